"""The figures of shortcuts: every row can be run, is kept and shown."""

from __future__ import annotations

import importlib
import json
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

from softground.experiments.experiment import named_recipe

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("the benchmarks are not part of this distribution")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("shortcuts")


def test_the_table_shows_rows_that_are_measured(script: ModuleType) -> None:
    table = importlib.import_module("shortcuts_table")
    shown = {key for _, _, rows in table.LINES for _, key, _ in rows}
    measured = {f"{task}/{row}" for task, rows in script.ROWS.items() for row in rows if task != "inspect"}
    assert shown <= measured
    assert {name for _, figures, _ in table.LINES for name in figures} <= set(script.FIGURES)


def test_a_successors_run_never_walks(script: ModuleType) -> None:
    words = [word.removeprefix("--").replace("-", "_") for word in shlex.split(script.SUCCESSOR)]
    assert words[-1] == "epochs"
    recipe = named_recipe("evenodd", "paper", objective="hard-feasible", epochs=10, zero_epochs=40)[0]
    assert (recipe.objective, recipe.epochs, recipe.zero_epochs) == ("hard-feasible", 10, 40)
    assert recipe.network == "lenet"


@pytest.mark.slow
def test_tiny_runs_are_kept_and_shown(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table, out = importlib.import_module("shortcuts_table"), tmp_path / "page.json"
    rows = {"kandlogic": {"successor": script.ROWS["kandlogic"]["successor"]}}
    monkeypatch.setattr(script, "ROWS", rows)
    tiny = "--train-size 8 --zero-epochs 1 --epochs 1"
    command = ["shortcuts.py", "--data-dir", str(tmp_path), "--seeds", "1", "--device", "cpu", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", [*command, "--try", tiny])
    assert table.table(out) == "Not measured yet."
    script.main()
    run = json.loads(out.read_text())["runs"]["kandlogic/successor/0"]
    assert {"commit", "command", "environment", "recipe"} <= run.keys()
    assert run["recipe"]["objective"] == "hard-feasible"
    page = table.table(out)
    assert "| the same as its successor ran it |" in page
    assert "SoftG 8.8 ± 9.4 / 73.9 ± 9.8 ¹ |" in page
    capsys.readouterr()
    script.main()
    assert capsys.readouterr().out == "1 of 1 cells are done; 0 to go\n"
