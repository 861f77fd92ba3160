"""Settings chosen on validation data: candidates run, the best is taken, test data are never touched."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from benchmarks.provenance import read_page
from papers.li2023 import choices, pool, work
from papers.li2023.cell import Cell, Where
from papers.li2023.store import Store
from softground.data.examples import APART
from softground.experiments.named import named_recipe
from softground.tasks import TASKS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def choose(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("choose")


@pytest.fixture
def tiny(choose: ModuleType) -> dict[str, Any]:
    base = {"preset": "best", "validation": 0.5, "network": "lenet", "train_size": 200, "augment": False}
    candidates = {"still": {"learning_rate": 1e-9, "epochs": 1}, "learns": {"learning_rate": 3e-3, "epochs": 12}}
    return {"sums": choose.Group("addition", "validation_sum_accuracy", base, candidates, 5)}


@dataclass
class Here:
    """A cell that is run in this process when it is asked how it ended; test_paper_pool has those of their own."""

    cell: Cell
    where: Where
    process: Any = field(default_factory=lambda: SimpleNamespace(poll=lambda: 0))
    began: float = field(default_factory=time.monotonic)

    def end(self) -> dict[str, Any]:
        return {"record": work.run(self.cell, self.where)}


@pytest.mark.filterwarnings("ignore:After 8 epochs of stage I")  # in a worker, nobody hears it
def test_the_candidate_with_the_best_validation_figure_is_chosen(
    choose: ModuleType,
    tiny: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool.Running, "start", lambda cell, where, threads, worker: Here(cell, where))
    page = tmp_path / "choose.json"
    how = ["--seeds", "1", "--jobs", "2", "--device", "cpu", "--records", str(tmp_path / "records"), "--out", str(page)]
    choose.main(how, tiny)
    found = read_page(page)
    assert found["commit"]
    assert {"command", "environment", "rule"} <= found.keys()
    group = found["groups"]["sums"]
    assert group["choice"] == "learns"
    assert group["candidates"]["learns"]["mean"] > group["candidates"]["still"]["mean"]
    (run,) = group["candidates"]["still"]["runs"]
    assert run["examples"] == {"train": 100, "validation": 100}
    assert {"commit", "command", "environment"} <= run.keys()
    assert all(name.startswith("validation_") for name in run["validation"])
    assert group["candidates"]["still"]["recipe"]["learning_rate"] == 1e-9
    capsys.readouterr()
    choose.main(how, tiny)
    assert "[" not in capsys.readouterr().out.splitlines()[0]  # on record: nothing is run again


def test_of_equals_the_quicker_is_chosen_once_all_were_tried(
    choose: ModuleType, tiny: dict[str, Any], tmp_path: Path
) -> None:
    store, runs = Store(tmp_path), choose.cells("sums", tiny["sums"], 1)
    assert choose.judged(tiny["sums"], runs, store)["choice"] is None
    for label, seconds, choice in (("still", 1.0, None), ("learns", 2.0, "still")):
        (cell,) = runs[label]
        result = {"validation": {"validation_sum_accuracy": 0.5}, "training_seconds": seconds}
        about = {"options": dict(cell.options), "settings": cell.settings, "seed": 0, "commit": "abc"}
        store.write(cell, about | {"result": result, "command": "python", "environment": {}})
        assert choose.judged(tiny["sums"], runs, store)["choice"] == choice


def test_test_data_are_never_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sealed:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"test data were asked for {name}")

        __len__ = __getitem__ = __getattr__

    made: Callable[..., Any] = work.experiment_of
    monkeypatch.setattr(work, "experiment_of", lambda *given: replace(made(*given), test=Sealed()))
    options = {"validation": 0.5, "network": "lenet", "train_size": 40, "epochs": 1}
    result = work.run(Cell("a/0", "choice", "addition", 0, options), Where("cpu"))["result"]
    assert {"validation_sum_accuracy", "validation_symbol_accuracy"} <= set(result["validation"])
    assert all(name.startswith("validation_") for name in result["validation"])


def test_every_candidate_has_a_recipe_with_a_validation_part(choose: ModuleType) -> None:
    for name, group in choose.GROUPS.items():
        for cells in choose.cells(name, group, 1).values():
            assert 0 < cells[0].settings["validation"] < 1


def test_presets_and_rows_are_what_was_chosen(choose: ModuleType) -> None:
    """A preset that is changed later must be chosen again."""
    table = importlib.import_module("choice_table")
    for name, group in table.groups().items():
        settings = {key: value for own in group["candidates"].values() for key, value in own["options"].items()}
        chosen = group["candidates"][group["choice"]]["recipe"]
        if name == choices.FORMULAS:  # follows Stage I, whatever comes out; the page tells what does
            assert choices.CHOSEN[name] in group["candidates"]
        elif name in choices.CHOSEN:
            assert group["choice"] == choices.CHOSEN[name]
        elif name in TASKS or name == "sudoku, 9x9":
            sizes = {k: v for k, v in group["base"].items() if k in ("train_size", "size")}
            recipe = named_recipe(group["task"], "best", **sizes)[0]
            now = recipe.to_json() | dict(recipe.problem)
            assert {key: chosen[key] for key in settings} == {key: now[key] for key in settings}, name


def test_a_choice_is_a_table_and_half_a_sentence(
    choose: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = importlib.import_module("choice_table")
    monkeypatch.setattr(table, "PAGE", tmp_path / "choose.json")
    assert table.table() == "Not measured yet."
    assert table.said("hwf") == "were chosen by looking at test figures"
    about = {"commit": "abc", "command": "python benchmarks/choose.py", "environment": {"gpu": "H200", "cpus": 4}}
    runs = [about | {"validation": {"validation_a": value}} for value in (0.5, 0.75)]
    own = {"runs": runs, "mean": 0.625, "seconds": 3.0, "options": {}}
    group: dict[str, Any] = {"figure": "validation_a", "candidates": {"preset": own}, "choice": "preset"}
    table.PAGE.write_text(json.dumps({"groups": {"hwf": group}}))
    assert table.said("hwf") == table.BY_TEST  # others were not tried
    group["candidates"] = dict.fromkeys(choose.GROUPS["hwf"].candidates, own)
    table.PAGE.write_text(json.dumps({"groups": {"hwf": group}}))
    assert "| formulas, `--preset best` | **preset** | 62.50 (50.00, 75.00) | 3 |" in table.table()
    assert "by `python benchmarks/choose.py` at commit abc, on H200" in table.table()
    assert table.said("hwf") == "were chosen on validation data"
    assert table.said("sdsp") == table.BY_TEST


def test_images_that_were_on_both_sides_are_told(choose: ModuleType) -> None:
    table = importlib.import_module("choice_table")
    old, new = ({"candidates": {"preset": {"runs": [{"note": note}]}}} for note in ("MNIST.", f"MNIST. {APART}"))
    assert table.shared({"half": new, "hwf": old}) == ""
    told = table.shared({"half": old, "evenodd, ten labels": new, "evenodd, two labels": old})
    assert told == " About a fifth of the validation images of EvenOdd and Half were training images too."
