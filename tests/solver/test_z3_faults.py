"""The Z3 inverse when its solver hangs, dies or runs out of memory."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

from smt_cases import ragged
from softground.constraints.smt import SMT
from softground.errors import ConstraintError, InverseError
from softground.experiments import Place
from softground.inverses.z3 import Z3
from softground.projections import Dropped
from softground.solver import crew
from softground.solver.engine import FibreQuery, Limits, Reply
from softground.spaces import Categorical

z3 = pytest.importorskip("z3")
if not crew.CAN_FORK:
    pytest.skip("this system cannot fork", allow_module_level=True)

BAD = 13
LIMIT = 1.2  # seconds: half of it must be enough for a good query on a busy machine
ANSWERS = [11, 12, 14, BAD, 10, 9]
GOOD = [[(6,)], [(7,)], [(9,)], [(8,)], [(5,)], [(4,)]]


def faulty(fault: Callable[[], object]) -> SMT:
    """z₀ + z₁ = y; the answer 13 does harm wherever it is solved, except in this process."""
    here = os.getpid()

    def formula(z: list[Any], y: Any) -> Any:
        if y == BAD and os.getpid() != here:
            fault()
        return z[0] + z[1] == y

    return SMT(formula, Categorical([range(10)] * 2))


def asked(inverse: Z3) -> list[list[tuple[int, ...]]]:
    """Fibres of all answers, and a check that only unknown ones are incomplete."""
    y = inverse.rule.encode(ANSWERS)
    fibre = inverse.fibre(torch.full((len(ANSWERS), 2), 5), y, Dropped(torch.tensor([[1]] * len(ANSWERS))))
    found = ragged(fibre)
    assert fibre.complete.tolist() == [bool(states) for states in found]
    return found


def without(place: int) -> list[list[tuple[int, ...]]]:
    return [*GOOD[:place], [], *GOOD[place + 1 :]]


def hang() -> None:
    time.sleep(3600)


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def forked(smt: SMT, **settings: Any) -> Z3:
    return Z3(smt, **{"workers": 2, "chunk": 3, "table": 0, "limit": LIMIT} | settings)


@pytest.mark.parametrize("fault", [hang, stop])
def test_what_does_not_come_back_is_killed_and_counted_and_remembered(fault: Callable[[], None]) -> None:
    inverse = forked(faulty(fault))
    for _ in range(2):
        assert asked(inverse) == without(3)
    assert inverse.faults == {"unknowns": 1, "timeouts": 1, "memouts": 0, "crashes": 0}


def test_those_solved_together_with_what_hangs_are_asked_alone_next_time() -> None:
    inverse = forked(faulty(hang), table=4096)
    first, second, third = asked(inverse), asked(inverse), asked(inverse)
    assert first == [*GOOD[:3], [], [], []]  # the second chunk is one group
    assert second == third == without(3)
    assert inverse.faults["timeouts"] == 3 + 1


@pytest.mark.parametrize("table", [0, 4096])
def test_only_the_query_that_kills_is_lost(table: int) -> None:
    inverse = forked(faulty(die), table=table)
    for _ in range(2):
        assert asked(inverse) == without(3)
    assert inverse.faults["crashes"] == inverse.faults["unknowns"] == 1


def test_a_process_killed_while_idle_costs_nothing() -> None:
    inverse = forked(faulty(lambda: None), cache=0)
    inverse.fibre(torch.full((2, 2), 5), inverse.rule.encode([11, 12]), Dropped(torch.tensor([[1]] * 2)))
    for idle in inverse._solver._idle:
        os.kill(idle.pid, signal.SIGKILL)
    assert asked(inverse) == GOOD
    assert inverse.faults["crashes"] == 0


def test_processes_that_cannot_even_begin_are_not_made_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "engine", lambda rule, limits: os._exit(1))
    doomed = crew.Crew(faulty(die), Limits(0, 1000, 1.0), chunk=2)
    assert doomed.solve([FibreQuery(5, (0, 0), (1,), 8)] * 2) == [Reply([], "crashed", "alone")] * 2


def test_a_formula_that_devours_memory_is_stopped() -> None:
    inverse = forked(faulty(lambda: bytearray(2**32)), memory=64, limit=20.0)
    assert asked(inverse) == without(3)
    assert inverse.faults["memouts"] == inverse.faults["unknowns"] == 1


@pytest.mark.parametrize("settings", [{"workers": 1}, {}], ids=["in this process", "in others"])
def test_so_is_a_query_that_fills_z3s_memory(settings: dict[str, Any]) -> None:
    def long_product(z: list[Any], y: Any) -> Any:
        if y != BAD:
            return z[0] + z[1] == y
        a, b = z3.BitVecs("a b", 1024)
        return [z3.Or(z[0] + z[1] == y, a * b == 2**1023 + 3**300), z3.ULT(a, b)]

    inverse = forked(SMT(long_product, Categorical([range(10)] * 2)), memory=16, limit=60.0, **settings)
    for _ in range(2):
        assert asked(inverse) == without(3)
    assert inverse.faults["memouts"] == inverse.faults["unknowns"] == 2
    assert z3.simplify(z3.IntVal(2) + 2).as_long() == 4  # the limit is lifted again


def test_in_this_process_a_query_gives_up_when_half_its_limit_has_passed() -> None:
    def cubes(z: list[Any], y: Any) -> Any:
        a, b, c = z3.Ints("a b c")
        return z3.Or(z[0] + z[1] == y, a**3 + b**3 + c**3 == 114) if y == BAD else z[0] + z[1] == y

    inverse = Z3(SMT(cubes, Categorical([range(10)] * 2)), table=0, rlimit=10**9, limit=0.4)
    assert asked(inverse) == without(3)
    assert inverse.faults["timeouts"] == inverse.faults["unknowns"] == 1
    assert asked(inverse) == without(3)
    assert inverse.faults["timeouts"] == 2  # not remembered: another time it may be quicker


def test_an_error_in_the_formula_comes_back_as_it_is() -> None:
    smt = SMT(lambda z, y: z[0] + z[1] == y if y != BAD else 1 / 0, Categorical([range(10)] * 2))
    inverse = forked(smt)
    with pytest.raises(ConstraintError, match="ZeroDivisionError"):
        asked(inverse)
    y = smt.encode([11])
    assert ragged(inverse.fibre(torch.tensor([[5, 5]]), y, Dropped(torch.tensor([[1]])))) == [[(6,)]]


def test_a_start_that_went_wrong_is_tried_again_and_else_borrowed() -> None:
    space = Categorical([range(10)] * 2)
    inverse = Z3(SMT(lambda z, y: z[0] + z[1] == y, space))
    y = inverse.rule.encode([5, 5, 7])
    good, solve = inverse.start(y, 3).z, inverse._solver.solve
    asked: list[int] = []

    def unlucky(queries: list[Any]) -> list[Reply]:
        asked.append(len(queries))
        first = len(asked) == 1
        return [
            Reply([], "crashed") if first or query.answer == 7 else o
            for query, o in zip(queries, solve(queries), strict=True)
        ]

    inverse._solver.solve = unlucky  # type: ignore[method-assign, assignment]
    start = inverse.start(y, 3)
    assert asked == [3, 3, 1, 1]
    assert start.found.tolist() == [True, True, False]
    assert not start.proved[2]
    assert inverse.rule.feasible(start.z[:2], y[:2]).all()
    assert not torch.equal(start.z[:2], good[:2])


def test_impossible_settings_are_refused() -> None:
    smt = faulty(hang)
    for settings, word in [
        ({"limit": 0.0}, "limit=0.0"),
        ({"limit": float("inf")}, "limit=inf"),
        ({"memory": 0}, "memory=0"),
    ]:
        with pytest.raises(InverseError, match=word):
            Z3(smt, **settings)
    with pytest.raises(InverseError, match="Use the inverse z3"):
        Place(solver_workers=2).solver("auto")


def test_outcomes_that_a_killed_process_held_back_are_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "SECONDS_BETWEEN_SENDS", 1e9)
    alone = crew.Crew(faulty(die), Limits(0, 10**6, 1.0, limit=LIMIT), chunk=4)
    replies = alone.solve([FibreQuery(y, (5, 5), (1,), 8) for y in (11, 12, BAD, 14)])
    whole = [Reply([(y - 5,)], "whole") for y in (11, 12, 14)]
    assert replies == [*whole[:2], Reply([], "crashed", "no"), whole[2]]
