"""The cells: their names are stable, their options can be built, and the paper's tables have all of theirs."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from paper_cases import cells, on_record, record
from papers.li2023 import layout, published
from papers.li2023.plan import plan, select
from papers.li2023.store import Store
from papers.li2023.sudoku import SIZES
from softground.errors import CheckpointError, SoftgroundError
from softground.experiments.experiment import named_recipe


def test_names_are_stable() -> None:
    """Records are found by name: a change here orphans those that are committed."""
    names = sorted(cell.name for cell in plan("all", 1))
    assert len(names) == len(set(names)) == 97
    for name in (
        "hwf/standard/exp/0",
        "hwf/writer/best/0",
        "hwf/standard/exp-ngs/0",
        "hwf/jump/0",
        "proposition/0",
        "sudoku/50/mcmc/0",
        "sudoku/500/best/0",
        "sdsp/recursive/exp/0",
        "sdsp/uniform/gibbs/0",
        "sdsp/z3/0",
    ):
        assert name in names
    assert hashlib.sha256("\n".join(names).encode()).hexdigest()[:16] == "ac74b9d1abb80ce0"


def test_seeds_come_one_after_the_other_and_the_papers_rows_first() -> None:
    order = plan("all", 2)
    assert [cell.seed for cell in order] == [0] * (len(order) // 2) + [1] * (len(order) // 2)
    assert order[0].name == "hwf/standard/exp/0"
    ranks = [cell.rank for cell in order[: len(order) // 2]]
    assert ranks == sorted(ranks)
    assert {cell.name.split("/")[0] for cell in order if cell.rank == 0} == {"hwf", "sudoku", "sdsp"}


def test_it_fits_into_an_hour() -> None:
    """By the estimates, if fourteen cells at a time go four times as fast as one."""
    assert sum(cell.seconds for cell in plan("all", 3)) / 4 < 3600


@pytest.mark.parametrize("quick", [False, True])
def test_every_cell_is_something_the_command_line_can_train(quick: bool) -> None:
    for cell in plan("all", 1, real=not quick, quick=quick):
        if cell.kind == "train":
            assert named_recipe(cell.task, **cell.options)[0].epochs >= 1


def test_every_number_of_the_paper_has_a_cell_and_a_row() -> None:
    names = {cell.family for cell in plan("all", 1)}
    assert {row.key for row in (*layout.HWF, *layout.COMBINATIONS)} >= set(published.HWF)
    assert {row.key for row in layout.SUDOKU} >= set(published.SUDOKU) >= set(published.GROUNDED)
    assert {f"hwf/standard/{row.method}" for row in (*layout.HWF, *layout.COMBINATIONS)} <= names
    assert {f"sudoku/{size}/{row.method}" for row in layout.SUDOKU for size in SIZES} <= names
    assert {f"sdsp/{trees}/{row.method}" for trees, rows in layout.SDSP.items() for row in rows} <= names


def test_without_data_the_built_in_digits_stand_in_and_there_are_no_writers() -> None:
    real, digits = plan("all", 1), plan("all", 1, real=False)
    assert {c.name for c in real} - {c.name for c in digits} == {c.name for c in real if "/writer/" in c.name}
    assert {c.options.get("data", "digits") for c in digits if c.kind == "train"} == {"digits"}


def test_cells_are_chosen_by_name_beginning_and_pattern() -> None:
    everything = plan("all", 2)
    assert [c.name for c in select(everything, ["hwf/standard/exp"])] == ["hwf/standard/exp/0", "hwf/standard/exp/1"]
    assert [c.name for c in select(everything, ["sdsp/uniform/sup/1"])] == ["sdsp/uniform/sup/1"]
    assert {c.family for c in select(everything, ["sudoku/*/mcmc/*"])} == {f"sudoku/{n}/mcmc" for n in SIZES}
    assert select(everything, []) == everything
    with pytest.raises(SoftgroundError, match=r"hwf/standard/expo fits no cell.*hwf/standard/exp"):
        select(everything, ["hwf/standard/expo"])


def test_no_seeds_are_refused() -> None:
    with pytest.raises(SoftgroundError, match="at least one"):
        plan("all", 0)


def test_a_record_counts_only_with_the_same_options(tmp_path: Path) -> None:
    store, (cell,) = Store(tmp_path), cells("a/b/0", epochs=3, data="hwf")
    assert on_record(store, [cell]) == []
    assert store.seeds() == 0
    store.write(cell, record(cell, {}))
    assert on_record(store, [cell]) == ["a/b/0"]
    assert store.seeds() == 1
    longer, elsewhere = (
        cells("a/b/0", **given)[0] for given in ({"epochs": 4, "data": "hwf"}, {"epochs": 3, "data": "digits"})
    )
    assert not store.finished(longer)
    assert store.shown(longer) is None
    assert not store.finished(elsewhere)
    assert store.shown(elsewhere) is not None  # a page says which data it shows


def test_a_record_made_before_the_preset_changed_does_not_count(tmp_path: Path) -> None:
    store = Store(tmp_path)
    cell = next(cell for cell in plan("sudoku", 1) if cell.name == "sudoku/50/exp/0")
    store.write(cell, record(cell, {}) | {"settings": cell.settings})
    assert store.finished(cell)
    assert store.shown(cell) is not None
    store.write(cell, record(cell, {}) | {"settings": cell.settings | {"steps": 11}})
    assert not store.finished(cell)
    assert store.shown(cell) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"options": 1, "result": {}}'])
def test_a_damaged_record_is_named(tmp_path: Path, text: str) -> None:
    store, (cell,) = Store(tmp_path), cells("a/0")
    store.path(cell).parent.mkdir(parents=True)
    store.path(cell).write_text(text)
    with pytest.raises(CheckpointError, match=r"a/0\.json.*Delete the file"):
        store.finished(cell)
