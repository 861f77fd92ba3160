"""Figures and their flat names in records: made and read back."""

from __future__ import annotations

from itertools import product

import pytest

from softground.figures import Figure, figures, flat_names, results
from softground.report.words import rows

SETS = ("", "test", "validation", "ood", "ood_far")
SHAPES = ("", "3", "(2, 2)")
READINGS = ("", "relabelled", "constrained", "constrained_relabelled", "grammatical", "plain")
NAMES = ("symbol_accuracy", "symbol_f1_all", "feasible", "shape_accuracy", "loss")


def test_every_flat_name_is_read_back() -> None:
    for data, shape, reading, name in product(SETS, SHAPES, READINGS, NAMES):
        figure = Figure(name, 0.5, data, shape, reading)
        assert Figure.parse(figure.flat, 0.5, SETS[1:]) == figure
        assert flat_names({name: 0.5}, data=data, shape=shape or None, reading=reading) == {figure.flat: 0.5}


@pytest.mark.parametrize("name", ["", "test_", "shape_", "a\nb", "constrained_"])
def test_forged_names_are_read(name: str) -> None:
    (figure,) = figures({name: None})
    assert not figure.share
    assert figure.brief or figure.answered


def test_results_bear_no_name_of_the_test_data() -> None:
    record = {"test_shape_3_error": 1.0, "ood_error": 2.0, "validation_error": 3.0, "loss": 4.0}
    assert list(results(record)) == ["shape_3_error", "ood_error", "validation_error", "loss"]


def test_figures_read_with_the_answer_known_have_a_group_of_their_own() -> None:
    record = {"symbol_accuracy": 0.5, "constrained_symbol_accuracy": 0.6, "symbol_collapse": 0.1}
    columns = [{figure.flat: figure for figure in figures(record)}]
    assert rows(columns) == {"symbol accuracy": ["50.00%"]}
    assert rows(columns, "answered") == {"symbol accuracy, answer known": ["60.00%"]}
    assert rows(columns, "more") == {"symbol collapse": ["0.1"]}
