"""Components against a search through all pairs of solutions; fibres, led chains and the rule that ranks them."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from problems import PROBLEMS, Problem
from softground import Task
from softground.kernels import Collapsed, Exact
from softground.projections import ChangeOne, Drop, RandomDrop
from softground.tasks.formulas import formula_task
from softground.walks.connectivity import components, fibres, joined, lead
from softground.walks.ranking import ranking
from softground.walks.solutions import Found, take
from softground.walks.time_limit import TimeLimit


def whole(task: Task, answer: object) -> Found:
    (found,) = take(task, [answer], 1, 0, TimeLimit()).found
    return found


def brute_force(z: torch.Tensor, sets: list[tuple[int, ...]], change: bool) -> int:
    """Components by looking at every pair: a step changes the dropped sites and one other at most."""
    n = len(z)
    near = [[a == b for b in range(n)] for a in range(n)]
    for a, b in product(range(n), repeat=2):
        differ = {i for i, same in enumerate((z[a] == z[b]).tolist()) if not same}
        near[a][b] = near[a][b] or any(len(differ - set(d)) <= change for d in sets)
    for k, a, b in product(range(n), repeat=3):
        near[a][b] = near[a][b] or (near[a][k] and near[k][b])
    return len({row.index(True) for row in near})


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize("sets", [[(0,)], [(2,)], [(0, 1)], [(1, 2)], [(0,), (1,)], [(0, 1), (1, 2)]], ids=str)
@pytest.mark.parametrize("change", [True, False], ids=["change one", "stay"])
def test_components(problem: Problem, sets: list[tuple[int, ...]], change: bool) -> None:
    task = Task(problem.space, problem.program)
    found = whole(task, problem.answer)
    result = components(problem.space, found, sets, change)
    assert result is not None
    assert result.count == brute_force(found.z, sets, change)
    assert (result.reach == 1) == (result.count == 1)


def test_a_family_joins_what_one_set_leaves_apart() -> None:
    problem = next(p for p in PROBLEMS if p.name == "all equal")
    space, found = problem.space, whole(Task(problem.space, problem.program), True)
    none = components(space, found, [()], True)
    assert none is not None
    assert (none.count, none.alone) == (3, 3)
    assert components(space, found, [(0,)], True).count == 3  # type: ignore[union-attr]
    assert components(space, found, RandomDrop(space, 2).sets, True).count == 1  # type: ignore[union-attr]


def test_the_papers_running_example() -> None:
    """4×9+3+3 = 42 has no neighbour at all; dropping the first and last digit joins all of S_42."""
    task = formula_task(7)
    space, found = task.space, whole(task, 42)
    alone = components(space, found, [()], True)
    assert alone is not None
    assert alone.count > 1000
    assert alone.alone > 0
    state = space.encode([(4, "*", 9, "+", 3, "+", 3)])
    apart = (found.z != state).sum(-1)
    assert int((apart == 0).sum()) == 1
    assert not bool((apart == 1).any())
    for dropped in ((0, 6), (2, 4)):
        joined = components(space, found, [dropped], True)
        assert joined is not None
        assert joined.count == 1
        assert joined.solutions == len(found.z)


def test_too_many_solutions_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    task = formula_task(3)
    found = whole(task, 5)
    monkeypatch.setattr("softground.walks.connectivity.MOST_SOLUTIONS", len(found.z) - 1)
    assert components(task.space, found, [()], True) is None


def test_fibres_are_those_of_the_inverse() -> None:
    problem = next(p for p in PROBLEMS if p.name == "uneven")
    task = Task(problem.space, problem.program)
    sample = take(task, [0], 1, 0, TimeLimit())
    figures = fibres(Collapsed(task.inverse, Drop(task.space, [2]), ChangeOne(task.space)), sample, 0)
    assert figures is not None
    # Where the first symbol is 0 all four completions are feasible, else only one.
    assert figures.largest == 4
    assert 1 < figures.mean < 4
    assert figures.complete == 1
    assert 0 < figures.movement <= 1
    over = TimeLimit(0)
    hurried = fibres(Collapsed(task.inverse, Drop(task.space, [2]), ChangeOne(task.space)), sample, 0, over)
    assert hurried is not None  # of the first rows
    assert hurried != figures
    assert over.reached


def test_chains_arrive_where_solutions_are_connected() -> None:
    problem = next(p for p in PROBLEMS if p.name == "all equal")
    task = Task(problem.space, problem.program)
    sample = take(task, [True], 1, 0, TimeLimit())
    pairs = Collapsed(task.inverse, RandomDrop(task.space, 2), ChangeOne(task.space))
    fine = lead(task, pairs, sample, TimeLimit(), 0)
    assert fine is not None
    assert fine.arrived == 1
    assert fine.agreement == 1
    single = Collapsed(task.inverse, Drop(task.space, [0]), ChangeOne(task.space))
    stuck = lead(task, single, sample, TimeLimit(), 0)
    assert stuck is not None
    assert (stuck.arrived, stuck.steps, stuck.agreement) == (0, None, 0)


def test_the_rule_prefers_what_connects() -> None:
    problem = next(p for p in PROBLEMS if p.name == "all equal")
    task = Task(problem.space, problem.program)
    sample = take(task, [True], 1, 0, TimeLimit())
    ranked = ranking(task, sample, {}, TimeLimit(), 0)
    assert [(r.name, r.satisfactory) for r in ranked] == [("any 2", True), ("any 1", False)]
    assert joined(task, sample, [()], True)[0].count == 3


def test_kernels_that_were_given_are_led_themselves() -> None:
    """After the projections that are satisfactory, and before those that are not; exact draws are no walk."""
    problem = next(p for p in PROBLEMS if p.name == "all equal")
    task = Task(problem.space, problem.program)
    sample = take(task, [True], 1, 0, TimeLimit())
    kernel = Collapsed(task.inverse, Drop(task.space, [1, 2]), ChangeOne(task.space))
    given = {"mine": kernel, "exact": Exact(task.inverse)}
    ranked = ranking(task, sample, given, TimeLimit(), 0)
    assert [r.name for r in ranked] == ["any 2", "mine", "any 1"]
    assert ranked[1].kernel is kernel
    assert ranked[1].satisfactory
