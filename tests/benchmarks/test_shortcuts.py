"""The figures of shortcuts: every row can be run, is kept and shown."""

from __future__ import annotations

import importlib
import json
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

from softground.experiments.named import named_recipe

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


def test_seconds_of_machines_are_never_mixed(script: ModuleType) -> None:
    spent = importlib.import_module("shortcuts_table").spent
    gpu = {"environment": {"gpu": "H200", "cpus": 16}, "wall_seconds": 3.0, "cpu_seconds": 2.0}
    cpu = {"environment": {"gpu": None, "cpus": 2}, "wall_seconds": 90.0, "cpu_seconds": 60.0}
    runs = {0: gpu, 1: gpu, 2: gpu, 3: cpu, 5: cpu}
    assert spent(runs, "H200") == "3 (seeds 0–2)"
    assert spent(runs, "2 CPU cores") == "60 (seeds 3, 5)"
    assert spent(runs, "16 CPU cores") == "–"
    cells = importlib.import_module("cells")
    both = {"row/0": gpu | {"epoch_seconds": 1.0}, "row/1": cpu | {"epoch_seconds": 9.0}}
    assert "epoch_seconds" not in cells.table(both, [])["row"]
    assert cells.table({"row/0": both["row/0"]}, [])["row"]["epoch_seconds"] == 1.0


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
    assert run["cpu_seconds"] > 0
    assert run["environment"]["gpu"] is None
    page = table.table(out)
    assert "| the same as its successor ran it |" in page
    assert "SoftG 8.8 ± 9.4 / 73.9 ± 9.8 ¹ |" in page
    capsys.readouterr()
    script.main()
    assert capsys.readouterr().out == "1 of 1 cells are done; 0 to go\n"
