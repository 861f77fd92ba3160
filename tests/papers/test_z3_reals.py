"""The Z3 inverse over reals when Z3 gives up."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from papers.li2023.baselines import Z3Reals
from reals import Reals
from softground.errors import InverseError

z3 = pytest.importorskip("z3")

CHAIN = Reals("chain", 3, (({0: 1.0}, {1: 2.0}), ({1: 0.5}, {2: 3.0})), (0.0, 0.0, 0.0))


def start(**settings: Any) -> tuple[Z3Reals, Any]:
    inverse = Z3Reals(CHAIN.rule, **settings)
    return inverse, inverse.start(CHAIN.answer(2), seed=0)


def test_a_resource_limit_says_unknown() -> None:
    inverse, found = start(rlimit=1)
    assert not found.found.any()
    assert not found.proved.any()
    assert inverse.faults == {"unknowns": 2, "timeouts": 0, "memouts": 0}


@pytest.mark.parametrize(
    ("reason", "timeouts", "memouts"), [("timeout", 2, 0), ("out of memory", 0, 2), ("canceled", 0, 0), ("", 0, 0)]
)
def test_why_is_counted(reason: str, timeouts: int, memouts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(z3.Solver, "check", lambda self: z3.unknown)
    monkeypatch.setattr(z3.Solver, "reason_unknown", lambda self: reason)
    inverse, found = start()
    assert not found.found.any()
    assert inverse.faults == {"unknowns": 2, "timeouts": timeouts, "memouts": memouts}


def test_memory_that_runs_out_while_the_query_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Any) -> None:
        raise z3.Z3Exception(b"out of memory")

    monkeypatch.setattr(z3.Solver, "check", full)
    inverse, _ = start(memory=100)
    assert inverse.memouts == 2
    monkeypatch.undo()
    assert bool(inverse.start(CHAIN.answer(1), seed=0).found.all())


def test_other_errors_are_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def odd(self: Any) -> None:
        raise z3.Z3Exception(b"sort mismatch")

    monkeypatch.setattr(z3.Solver, "check", odd)
    with pytest.raises(InverseError, match="sort mismatch"):
        start()


def test_states_are_found_within_the_limits() -> None:
    inverse, found = start(memory=200, timeout=30.0)
    assert bool(CHAIN.rule.feasible(found.z, CHAIN.answer(2)).all())
    assert torch.equal(found.found, torch.tensor([True, True]))
    assert not any(inverse.faults.values())
