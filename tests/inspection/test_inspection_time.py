"""What an inspection may take: every part looks at the clock, which here goes on only when the rule is asked."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
import torch

import softground as sg
from softground import preparing as seam
from softground.errors import LearnerError
from softground.inspection import maps
from softground.tasks.sudoku import sudoku_task
from softground.walks import recommendation
from softground.walks.solutions import begun
from softground.walks.time_limit import TimeLimit

SECONDS = 20.0


class Clock:
    """The seconds that a rule took, a hundredth for each state."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(seam, "time", found)
    monkeypatch.setattr(recommendation, "TimeLimit", lambda seconds=math.inf: TimeLimit(seconds, found.monotonic))
    return found


def slow(clock: Clock, wanted: Any = None) -> sg.Task:
    """A plain function of 30 digits; with ``wanted``, its answer is 0 for that state alone."""

    def rule(*z: int) -> int:
        clock.now += 0.01
        return sum(z) % 7 if wanted is None else int(z != wanted)

    space = sg.Categorical([range(10)] * 30)
    return sg.Task(space, sg.Program(rule, space))


def test_an_inspection_of_a_slow_rule_ends_in_time(clock: Clock) -> None:
    found = sg.inspect(slow(clock), [0, 1, 2], seconds=TimeLimit(SECONDS, clock.monotonic))
    assert found.answers >= 1
    assert "solutions of the answers" in found.left_out
    assert SECONDS < clock.now < 2 * SECONDS  # a row of a thousand states is tried to its end


def test_choosing_a_walk_keeps_to_the_time_of_an_inspection(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    task, seen = slow(clock), []

    def choose(*given: object) -> sg.Recommendation:
        seen.append(given[-1])
        return recommendation.choose(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("softground.inspection.inspection.choose", choose)
    sg.inspect(task, [0, 1, 2], seconds=TimeLimit(SECONDS, clock.monotonic))
    assert isinstance(seen[0], TimeLimit)
    assert seen[0].end <= SECONDS + 1e-6 or seen[0].seconds == 0


def test_a_recommendation_ends_in_time(clock: Clock) -> None:
    best = sg.walks.recommend(slow(clock), [0, 1, 2], seconds=SECONDS)
    assert "ended after 20 s" in best.reasons[-1]
    assert clock.now < 4 * SECONDS  # chains of a chosen walk take their first steps whatever the time


def test_a_solution_that_is_not_found_in_time_is_not_said_to_be_none(clock: Clock) -> None:
    task = slow(clock, wanted=(3,) * 30)
    with pytest.raises(LearnerError, match=r"No solution of the answer 0 was found in time.*seconds="):
        sg.inspect(task, [0], seconds=TimeLimit(SECONDS, clock.monotonic))
    assert clock.now < 2 * SECONDS
    with seam.within(SECONDS):
        start = task.inverse.start(task.constraint.encode([0]), 0)
    assert start.found.tolist() == start.proved.tolist() == [False]


def test_a_solver_is_not_asked_more_than_there_is_time_for(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    space = sg.Categorical([range(10)] * 2)
    inverse = sg.inverses.Z3(sg.SMT(lambda z, y: z[0] + z[1] == y, space))
    solve = inverse._solver.solve

    def tired(queries: Any) -> Any:
        clock.now += len(queries)
        return solve(queries)

    monkeypatch.setattr(inverse._solver, "solve", tired)
    y = inverse.rule.encode([7])
    assert len(begun(inverse, y, 100, 0, TimeLimit(SECONDS, clock.monotonic))) == 100  # the others have the same states
    assert clock.now == SECONDS
    begun(inverse, y, 100, 0, TimeLimit())
    assert clock.now == SECONDS + 100


def test_laws_are_drawn_from_a_few_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    space = sg.Categorical([range(10)] * 2)
    inverse = sg.Task(space, sg.Program(lambda a, b: a + b, space)).inverse
    clock, start, asked = Clock(), inverse.start, []

    def slow_start(y: torch.Tensor, seed: int) -> Any:
        asked.append(len(y))
        clock.now += len(y)
        return start(y, seed)

    monkeypatch.setattr(inverse, "start", slow_start)
    y = inverse.constraint.encode([7])
    assert len(begun(inverse, y, 100, 0, TimeLimit(SECONDS, clock.monotonic))) == 15
    assert asked == [1, 2, 4, 8]  # twice as many would take longer than what is left
    begun(inverse, y, 100, 0, TimeLimit())
    assert asked[-1] == 100


def test_a_remark_after_training_takes_a_second(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "TimeLimit", recommendation.TimeLimit)
    task, z = slow(clock), torch.arange(30).remainder(10).expand(64, 30).clone()
    z[:, 0] = torch.arange(64) % 10
    y = task.constraint.encode([row.sum().item() % 7 for row in z])
    clock.now = 0.0
    found = maps.other_maps(task, z, y)
    assert found is not None
    assert not found["finished"]
    assert clock.now < 5  # some states are tried before the pace of the rule is known


def test_a_remark_on_large_boards_takes_a_second() -> None:
    task, draw = sudoku_task(9), torch.Generator().manual_seed(0)
    board = torch.tensor([(3 * (row % 3) + row // 3 + column) % 9 for row in range(9) for column in range(9)])
    z = torch.stack([torch.randperm(9, generator=draw)[board] for _ in range(500)])
    began = time.monotonic()
    found = maps.other_maps(task, z, task.constraint.encode([True] * len(z)))
    assert time.monotonic() - began < 10  # it took minutes
    assert found is not None
    assert not found["finished"]
    assert "such as ." not in found["text"]
