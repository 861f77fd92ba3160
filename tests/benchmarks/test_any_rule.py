"""Rules of one's own with no kernel named: the benchmark's cells choose what they should."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
pytestmark = pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="the benchmarks are not part of this distribution")


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("any_rule_cell")


def test_a_cell_writes_what_was_chosen(cell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cell.SIZES, "mixed", (40, 20))
    cell.main(["mixed", "--rule", "own", "--epochs", "1", "--device", "cpu", "--out", str(tmp_path / "record.json")])
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["choice"]["rung"] == "table"
    assert 0 <= record["symbol_accuracy"] <= 1


@pytest.mark.parametrize(
    ("problem", "rule"), [("mixed", "own"), ("mixed", "cpmpy"), ("grid", "parts"), ("killer", "cpmpy")]
)
def test_answers_are_true_of_the_symbols(cell: Any, problem: str, rule: str) -> None:
    made = {"mixed": cell.mixed, "grid": cell.sums, "killer": cell.killer}[problem]
    found = made(argparse.Namespace(problem=problem, rule=rule))
    codes, told = found.draw(8, np.random.default_rng(0))
    assert bool(found.rule.feasible(codes, found.rule.encode(told)).all())


def test_cages_cut_up_the_board(cell: Any) -> None:
    found = cell.cages(np.random.default_rng(0))
    assert sorted(cell for cage in found for cell in cage) == list(range(16))
    assert {len(cage) for cage in found} <= {1, 2, 3}


def test_instruments_are_read_from_totals_and_from_labels(cell: Any, tmp_path: Path) -> None:
    cell.main(["instruments", "--labels", "--epochs", "1", "--device", "cpu", "--out", str(tmp_path / "record.json")])
    error = json.loads((tmp_path / "record.json").read_text())["error"]
    table = importlib.import_module("any_rule_table")
    runs = {
        f"instruments/{row}/{seed}": {"error": e + seed}
        for seed in (0, 1)
        for row, e in (("total", 3.0), ("labels", 2.0))
    }
    assert 0 < error < 10
    assert (
        "3.500 ± 0.707 from totals, of 2.500 ± 0.707 from labels: 1.417 ± 0.118 times it (2 seeds)"
        in table._dials(runs)[1]
    )
