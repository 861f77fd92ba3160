"""The figures of shortcuts: every row can be run, is kept and shown."""

from __future__ import annotations

import importlib
import json
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from benchmarks.provenance import read_page
from lessons import Lesson
from softground.constraints import Not
from softground.dice import Sampler
from softground.target import Target
from softground.tasks.shortcuts import EvenOdd
from softground.tasks.validity import Validity
from softground.training import Moment

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


def test_a_run_repeated_on_a_cpu_gives_its_seconds_and_counts_in_no_mean(script: ModuleType, tmp_path: Path) -> None:
    table, made = importlib.import_module("shortcuts_table"), {"commit": "abc1234", "symbol_accuracy": 0.9}
    figures = {"symbol_ece": 0.1, "ood_symbol_accuracy": 0.8}
    gpu = made | figures | {"environment": {"gpu": "H200", "cpus": 16}, "wall_seconds": 3.0}
    cpu = made | figures | {"environment": {"gpu": None, "cpus": 2}, "cpu_seconds": 60.0, "symbol_accuracy": 0.5}
    for name, runs in (("s", {"half/ours/0": gpu}), ("s_cpu", {"half/ours/0": cpu})):
        (tmp_path / f"{name}.json").write_text(json.dumps({"command": "c", "runs": runs}))
    (line,) = [line for line in table.table(tmp_path / "s.json").splitlines() if line.startswith("| Half")]
    assert "| 90.00 / 10.00 / 80.00 |" in line
    assert "| 3 (seed 0) | 60 (seed 0 again: 50.0 / 10.0 / 80.0) |" in line


def test_groundings_of_a_successors_run(script: ModuleType) -> None:
    """Drawn from S_y, invalid boards too; they stay in it while they walk, and both kinds move."""
    cell = importlib.import_module("successor_cell")
    task, dice = Validity(boards="both").task(), Sampler(0)
    y = task.constraint.encode([True, Not(True)]).repeat(50)
    z = cell.drawn(task, y, dice)
    assert bool(task.constraint.feasible(z, y).all())
    assert len(z.unique(dim=0)) > 80
    belief = task.space.belief(torch.zeros(len(y), 16, 4))
    step, first = cell.board_step(task), z
    for _ in range(20):
        z = step(dice, z, Target.at(belief, y, 1.0))
    assert bool(task.constraint.feasible(z, y).all())
    moved = (z != first).any(1)
    assert bool(moved[y >= 0].float().mean() > 0.8)
    assert bool(moved[y < 0].float().mean() > 0.8)
    assert [cell.cooled(epoch) for epoch in (0, 10, 11, 1000)] == [1.0, 1.0, 0.95, 0.01]


def test_a_successor_learns_from_the_likeliest_draw(script: ModuleType) -> None:
    """With many draws it is the most probable pair that occurs; kept until it is drawn anew."""
    cell = importlib.import_module("successor_cell")
    task = EvenOdd(known_pairs=True).task()
    y = task.constraint.encode([6, 10])
    lesson = Lesson(cell.BestDraw(200, lambda epoch: epoch == 0), task, y)
    scores = torch.randn(2, 2, 10, generator=torch.Generator().manual_seed(1)).requires_grad_()
    belief = task.space.belief(scores)
    loss = lesson.loss(belief).loss
    best = task.inverse.most_probable(Target(belief.detach(), y, 1.0))
    assert best is not None
    assert torch.equal(lesson.memory["groundings"], best)
    assert math.isclose(float(loss), -float(belief.log_prob(best).mean()) / 2, rel_tol=1e-6)
    lesson.loss(task.space.belief(-scores), moment=Moment(epoch=1))
    assert torch.equal(lesson.memory["groundings"], best)


@pytest.mark.slow
def test_tiny_runs_are_kept_and_shown(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table, out = importlib.import_module("shortcuts_table"), tmp_path / "page.json"
    monkeypatch.setattr(script, "ROWS", {"validity": {"successor": script.ROWS["validity"]["successor"]}})
    tiny = "--data digits --train-size 8 --zero-epochs 1 --epochs 1"
    command = ["shortcuts.py", "--data-dir", str(tmp_path), "--seeds", "1", "--device", "cpu", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", [*command, "--try", tiny])
    assert table.table(out) == "Not measured yet."
    script.main()
    run = read_page(out)["runs"]["validity/successor/0"]
    assert {"commit", "command", "environment", "recipe"} <= run.keys()
    assert run["recipe"]["objective"] == "successor"
    assert run["cpu_seconds"] > 0
    assert run["environment"]["gpu"] is None
    page = table.table(out)
    assert "| the same as its successor ran it |" in page
    assert "SoftG 29.2 ± 29.8 / 76.8 ± 8.4 / – ¹ |" in page
    capsys.readouterr()
    script.main()
    assert capsys.readouterr().out == "1 of 1 cells are done; 0 to go\n"
