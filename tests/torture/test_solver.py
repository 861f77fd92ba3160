"""The trial of solver faults fails where the library does not look after them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from softground.inverses.z3 import Z3
from softground.projections import Dropped
from softground.solver import crew
from torture.trial import Tally
from torture.trials import solver
from torture.trials._faulty import Faulty, faulty_inverse, rule

pytest.importorskip("z3")
if not crew.CAN_FORK:
    pytest.skip("this system cannot fork", allow_module_level=True)

FORKED = {"workers": 2, "table": 0, "limit": 0.6}


def tried(case: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Tally:
    """One case of the trial."""
    monkeypatch.setattr(solver, "cases", lambda: {"this": case})
    tally = Tally()
    solver.run(tally, 1, 5, folder)
    return tally


def test_a_solver_whose_guesses_are_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown fibre that is passed on as if it were known puts chains outside S_y."""
    known = Z3.fibre

    def believed(self: Z3, z: Any, y: Any, dropped: Any) -> Any:
        fibre = known(self, z, y, dropped)
        lost = ~fibre.complete
        fibre.mask[lost, 0] = True
        fibre.complete[lost] = True
        return fibre

    monkeypatch.setattr(Z3, "fibre", believed)
    case = solver.injected("undecided", 0.3, rlimit=2000)
    failures = tried(case, tmp_path, monkeypatch).failures
    assert len(failures) == 1
    assert "infeasible" in failures[0]


def test_faults_that_are_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faults: Any = Z3.faults
    monkeypatch.setattr(Z3, "faults", property(lambda self: faults.fget(self) | {"crashes": 0}))
    failures = tried(solver.injected("die", 0.1, **FORKED), tmp_path, monkeypatch).failures
    assert len(failures) == 1
    assert "0 were counted" in failures[0]


def test_a_worker_that_is_waited_for_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = crew.Crew._begin

    def patient(self: crew.Crew, *arguments: Any) -> crew.Job:
        job = begin(self, *arguments)
        job.deadline += 0.6
        return job

    monkeypatch.setattr(crew.Crew, "_begin", patient)
    monkeypatch.setattr(solver, "SPARE", 0.3)
    failures = tried(solver.injected("sleep", 0.1, **FORKED), tmp_path, monkeypatch).failures
    assert len(failures) == 1
    assert "beyond its limit" in failures[0]


def test_the_same_queries_are_hurt_each_time(tmp_path: Path) -> None:
    program = rule()
    y = program.encode([5] * 20)
    hurt = []
    for name in ("a", "b"):
        formula = Faulty("undecided", 0.3, 1, str(tmp_path / name))
        inverse = faulty_inverse(program, formula, rlimit=5000, table=0)
        states = program.space.states(torch.arange(20) * 6)
        inverse.fibre(states, y, Dropped(torch.tensor([[0]] * 20)))
        hurt.append(formula.hurt())
    assert hurt[0] == hurt[1]
    assert 0 < len(hurt[0]) < 20
