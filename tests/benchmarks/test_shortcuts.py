"""The figures of shortcuts: every row can be run, is kept and shown."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from benchmarks.provenance import read_page
from lessons import Lesson
from softground.target import Target
from softground.tasks.shortcuts import EvenOdd
from softground.training import Moment

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("the benchmarks are not part of this distribution")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("shortcuts")


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
