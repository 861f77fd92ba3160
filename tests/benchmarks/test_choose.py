"""Settings chosen on validation data: candidates run, the best is taken, test data are never touched."""

from __future__ import annotations

import importlib
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
