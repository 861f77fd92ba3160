"""Data as people have them: how they are made, and that the script measures, keeps and shows them."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import softground as sg
from benchmarks.provenance import read_page
from softground.data.digits import embedded_digits

ROOT = Path(__file__).resolve().parents[2]
PLAIN: dict[str, Any] = {"wrong": 0.0, "infeasible": 0.0, "anchors": 0, "examples": 200}


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("the benchmarks are not part of this distribution")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("your_data_cell")


def made(cell: ModuleType, problem: str, **given: Any) -> Any:
    options = argparse.Namespace(problem=problem, **PLAIN | given)
    build = cell.boards if problem == "boards" else cell.numbers
    return build(options, embedded_digits(), np.random.default_rng(0))


def test_wrong_sums_are_other_sums_and_the_test_set_is_clean(cell: ModuleType) -> None:
    data = made(cell, "addition", wrong=0.2)
    true = data.train.symbols.sum(1).tolist()
    assert {
        row for row, (told, right) in enumerate(zip(data.train.y, true, strict=True)) if told != right
    } == data.wrong
    assert len(data.wrong) == 40
    assert set(data.train.y) <= set(range(19))
    assert data.test.y == data.test.symbols.sum(1).tolist()


def test_anchors_are_images_that_no_example_shows(cell: ModuleType) -> None:
    data = made(cell, "modular", anchors=5, examples=10**6)
    assert sorted(data.anchors.symbols) == sorted([*range(10)] * 5)
    shown = {bytes(image) for image in data.train.x.flatten(0, 1).numpy()}
    assert not shown & {bytes(image) for image in data.anchors.inputs.numpy()}
    assert len(data.train) == (len(embedded_digits()[0].labels) - 50) // 2


def test_infeasible_answers_are_those_that_nothing_explains(cell: ModuleType) -> None:
    data = made(cell, "product", infeasible=0.1)
    found = data.task.inverse.start(data.task.constraint.encode(data.train.y), seed=0)
    assert set((~found.found & found.proved).nonzero().flatten().tolist()) == data.wrong
    assert len(data.wrong) == 20


def test_invalid_boards_differ_from_a_valid_one_in_one_cell(cell: ModuleType) -> None:
    from softground.tasks.sudoku.boards import all_boards

    data = made(cell, "boards", examples=30)
    codes, valid = data.train.symbols.numpy(), all_boards(4)
    apart = (codes[:, None] != valid).sum(-1).min(1)  # cells in which the nearest valid board differs
    assert apart.tolist() == [0, 1] * 30
    assert data.train.y[:2] == [True, sg.Not(True)]
    assert bool(data.task.feasible(data.train.symbols, data.task.constraint.encode(data.train.y)).all())


@pytest.mark.slow
def test_tiny_runs_are_kept_and_shown(
    cell: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script, table = importlib.import_module("your_data"), importlib.import_module("your_data_table")
    out = tmp_path / "page.json"
    tiny = "--data digits --examples 40 --epochs 1 --network lenet"
    command = ["your_data.py", "--data-dir", str(tmp_path), "--seeds", "1", "--device", "cpu", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", [*command, "--jobs", "2", "--try", tiny])
    cells, started = importlib.import_module("cells"), []
    process = cells.ended

    def ended(name: str, command: list[str], limit: float) -> float | None:
        """The first cell is a process of its own, as all are; the others are spared the start of one."""
        started.append(name)
        if name.startswith("addition"):
            return process(name, command, limit)
        return cell.main(command[2:]) or 1.0

    monkeypatch.setattr(cells, "ended", ended)
    rows = {"addition": "30 learnt", "product": "10 dropped", "boards": "complement"}
    monkeypatch.setattr(script, "ROWS", {name: {row: script.ROWS[name][row]} for name, row in rows.items()})
    assert table.table(out) == "Not measured yet."
    script.main()
    page = read_page(out)
    assert sorted(page["runs"]) == ["addition/30 learnt/0", "boards/complement/0", "product/10 dropped/0"]
    for run in page["runs"].values():
        assert {"commit", "command", "environment", "recipe"} <= run.keys()
    assert page["runs"]["product/10 dropped/0"]["training"]["unexplained"] == 4
    assert {"recall", "precision"} <= page["table"]["addition/30 learnt"].keys()
    assert "| wrong sums found among 30 %, ε learnt: recall / precision |" in table.table(out)
    assert len(started) == 3
    capsys.readouterr()
    script.main()
    assert capsys.readouterr().out == "3 of 3 cells are done; 0 to go\n"
