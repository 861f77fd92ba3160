"""The cells: their names are stable, their options can be built, and the paper's tables have all of theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper_cases import cells, on_record, record
from papers.li2023 import choices, layout, published
from papers.li2023.plan import MOST_SEEDS, plan
from papers.li2023.store import Store
from papers.li2023.sudoku import ENDS, LARGEST, SIZES
from softground.errors import CheckpointError
from softground.experiments.named import named_recipe

RECORDS = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "reproduction"


def test_every_committed_record_counts() -> None:
    """A recipe that changed since would leave a record that no table shows."""
    store = Store(RECORDS)
    assert [c.name for c in plan("all", MOST_SEEDS) if store.read(c) is not None and not store.finished(c)] == []


@pytest.mark.parametrize("quick", [False, True])
def test_every_cell_is_something_the_command_line_can_train(quick: bool) -> None:
    for cell in plan("all", 1, real=not quick, quick=quick):
        if cell.kind == "train":
            assert cell.settings["epochs"] >= 1


def test_every_number_of_the_paper_has_a_cell_and_a_row() -> None:
    names = {cell.family for cell in plan("all", 1)}
    assert {row.key for row in (*layout.HWF, *layout.COMBINATIONS)} >= set(published.HWF)
    boards = (*layout.SUDOKU, *layout.SUDOKU_CODE)
    assert {row.key for row in boards} >= set(published.SUDOKU) >= set(published.GROUNDED)
    assert {f"hwf/standard/{row.method}" for row in (*layout.HWF, *layout.COMBINATIONS)} <= names
    everywhere = {row.method for row in boards} - {*ENDS, *LARGEST}
    assert {f"sudoku/{size}/{method}" for method in everywhere for size in SIZES} <= names
    assert {f"sudoku/{size}/{method}" for method in ENDS for size in (SIZES[0], SIZES[-1])} <= names
    assert {f"sudoku/{SIZES[-1]}/{method}" for method in LARGEST} <= names
    assert {f"sdsp/{trees}/{row.method}" for trees, rows in layout.SDSP.items() for row in rows} <= names


def test_sudoku_as_in_the_authors_code() -> None:
    found = {
        cell.family: named_recipe(cell.task, **cell.options)[0] for cell in plan("sudoku", 1) if cell.kind == "train"
    }
    for method in ("exp", "log", "linear", "mcmc"):
        recipe = found[f"sudoku/500/{method}-code"]
        assert recipe.problem == recipe.problem | {"boards": "authors", "image_size": 32, "train_size": 500}
        assert (recipe.zero_batch_size, recipe.zero_weight_decay, recipe.zero_epochs) == (32, 5e-4, 100)
        assert (recipe.warmup, recipe.steps, recipe.epochs, recipe.keep) == (11, 9, 109, "best")
        assert (recipe.batch_size, recipe.optimizer, recipe.learning_rate) == (64, "sgd", 0.1)
        assert recipe.gamma == pytest.approx(16 * 0.1)
        assert recipe.floor == pytest.approx(16 * (0.01 if method == "mcmc" else 0.02))
        assert recipe.schedule == f"{'exp' if method == 'mcmc' else method}-code"
        assert recipe.evaluate_every == 10
    ssl = found["sudoku/500/ssl-code"]
    assert (ssl.gamma, ssl.steps, ssl.warmup, ssl.epochs, ssl.optimizer) == (16.0, 1, 0, 1000, "adam")
    assert (ssl.learning_rate, ssl.problem["boards"], ssl.zero_epochs) == (1e-3, "authors", 0)
    assert found["sudoku/500/exp"].problem["boards"] == "all"


@pytest.mark.parametrize(
    ("name", "row"),
    [
        (choices.FORMULAS, "hwf/standard/semantic"),
        (choices.BOARDS, "sudoku/50/semantic"),
        (choices.PATHS, "sdsp/uniform/gibbs"),
    ],
)
def test_a_row_has_the_settings_that_were_chosen_for_it(name: str, row: str) -> None:
    (cell,) = (cell for cell in plan("all", 1) if cell.family == row)
    assert cell.options == {**cell.options, **choices.chosen(name)}


@pytest.mark.parametrize("task", choices.FOLLOWS)
def test_a_row_of_ours_differs_from_the_one_that_it_follows_in_what_its_name_says(task: str) -> None:
    found = {cell.family: cell.settings for cell in plan("all", 1) if cell.kind == "train"}
    shown = ("evaluate_every",)
    for row, (followed, differs) in choices.FOLLOWS[task].items():
        own = [family for family in found if family.startswith(f"{task}/") and family.endswith(f"/{row}")]
        assert own
        for family in own:
            other = found[f"{family.removesuffix(row)}{followed}"]
            apart = {name for name, value in found[family].items() if value != other.get(name) and name not in shown}
            assert apart <= differs, family


def test_every_row_is_the_papers_follows_another_or_was_chosen() -> None:
    decided = {"hwf": {"semantic"}, "sudoku": {"semantic"}, "sdsp": {"gibbs"}}
    for task, rows in (("hwf", layout.HWF), ("sudoku", layout.SUDOKU), ("sdsp", layout.SDSP["uniform"])):
        ours = {row.method for row in rows if row.group in ("Not in the paper", layout.HARD)} - {"best", "mean"}
        theirs = {"ssl", "mcmc"}  # with a second stage, which is the paper's
        assert ours - theirs == (set(choices.FOLLOWS[task]) | decided[task]) & ours
        assert choices.FOLLOWS[task].keys().isdisjoint(decided[task])


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
    newer = {name: value for name, value in cell.settings.items() if name != "patience"}
    store.write(cell, record(cell, {}) | {"settings": newer})  # made before there was such a setting
    assert store.finished(cell)
    store.write(cell, record(cell, {}) | {"settings": {k: v for k, v in newer.items() if k != "keep"}})
    assert not store.finished(cell)  # the preset has another than the default


@pytest.mark.parametrize("missing", ["commit", "command", "settings"])
def test_a_record_that_does_not_say_where_it_is_from_does_not_count(tmp_path: Path, missing: str) -> None:
    store = Store(tmp_path)
    cell = next(cell for cell in plan("sudoku", 1) if cell.name == "sudoku/50/exp/0")
    whole = record(cell, {})
    store.write(cell, {name: value for name, value in whole.items() if name != missing})
    assert not store.finished(cell)
    assert store.shown(cell) is None


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"name": "a/0"', '{"name": "a/0", "options": 1, "result": {}}'])
def test_a_damaged_record_is_named(tmp_path: Path, text: str) -> None:
    store, (cell,) = Store(tmp_path), cells("a/0")
    store.path(cell).write_text(text)
    with pytest.raises(CheckpointError, match=r"a\.jsonl: (line 1|a/0).*Delete the line"):
        store.finished(cell)
