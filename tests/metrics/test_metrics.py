"""F1, collapse and calibration against scikit-learn, a plain loop, and values worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score
from torch import Tensor

from softground.metrics import accuracies, calibration_error, collapse, macro_f1, reliability

CODES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=40)
# Any confidence, and every edge of a bin.
SURE = st.one_of(st.floats(0.01, 1.0), st.integers(1, 10).map(lambda k: k / 10))
READINGS = st.lists(st.tuples(SURE, st.booleans()), min_size=1, max_size=40)


def columns(pairs: list[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    predicted, truth = torch.tensor(pairs).unbind(1)
    return predicted, truth


@given(CODES)
@settings(max_examples=30, deadline=None)
def test_f1_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    predicted, truth = columns(pairs)
    assert macro_f1(predicted, truth) == pytest.approx(f1_score(truth, predicted, average="macro"))
    every = f1_score(truth, predicted, average="macro", labels=range(9), zero_division=0)
    assert macro_f1(predicted, truth, 9) == pytest.approx(every)


@given(CODES)
@settings(max_examples=30, deadline=None)
def test_collapse_counts_values_that_are_never_read(pairs: list[tuple[int, int]]) -> None:
    read, there = ({pair[k] for pair in pairs} for k in (0, 1))
    assert collapse(*columns(pairs)) == pytest.approx(1 - len(read) / len(read | there))
    assert collapse(*columns(pairs), 9) == pytest.approx(1 - len(read) / 9)


def slow_error(readings: list[tuple[float, bool]]) -> float:
    error = 0.0
    for k in range(1, 11):
        own = [(sure, right) for sure, right in readings if (k - 1) / 10 < sure <= k / 10]
        if own:
            gap = sum(right for _, right in own) / len(own) - sum(sure for sure, _ in own) / len(own)
            error += len(own) / len(readings) * abs(gap)
    return error


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@given(readings=READINGS)
@settings(max_examples=30, deadline=None)
def test_the_calibration_error_is_that_of_a_plain_loop(dtype: torch.dtype, readings: list[tuple[float, bool]]) -> None:
    sure, right = torch.tensor([r[0] for r in readings], dtype=dtype), torch.tensor([r[1] for r in readings])
    if dtype == torch.float32:  # but for edges, which stay where they are
        readings = [(s if s * 10 == round(s * 10) else float(f), r) for (s, r), f in zip(readings, sure, strict=True)]
    assert calibration_error(sure, right) == pytest.approx(slow_error(readings), abs=1e-6)
    found = reliability(sure, right)
    assert int(found.readings.sum()) == len(readings)
    assert all(math.isnan(share) == (n == 0) for n, share in zip(found.readings, found.accuracy, strict=True))


def test_real_symbols_have_an_error_and_no_share_that_is_right() -> None:
    predicted, true = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 4.0], [3.0, 2.0]])
    found = accuracies(predicted, torch.tensor([True, False]), true)
    assert found == {"answer_accuracy": 0.5, "error": pytest.approx(2**0.5)}
