"""Rules of one's own with no kernel named: the benchmark's cells choose what they should."""

from __future__ import annotations

import argparse
import importlib
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
