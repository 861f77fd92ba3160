"""Components and distances, against a search through all pairs of solutions."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from problems import PROBLEMS, Problem
from softground import Categorical, ChangeOne, Collapsed, Drop, RandomDrop, Task
from softground.inspection.candidates import Candidate, candidates, correlated, given, information
from softground.inspection.compare import compare, single_site
from softground.inspection.connectivity import components, distances
from softground.inspection.fibres import measure
from softground.inspection.leading import lead
from softground.inspection.limit import Limit
from softground.inspection.sample import Found, take
from softground.projections import Stay, SwapInside
from softground.tasks.formulas import formula_task
from softground.tasks.sudoku import sudoku_task
from softground.tasks.sudoku.rule import boxes
from softground.tasks.sudoku.walks import diagonal


def whole(task: Task, answer: object) -> Found:
    (found,) = take(task, [answer], 1, 0, Limit()).found
    return found


def brute_force(z: torch.Tensor, sets: list[tuple[int, ...]], change: bool) -> tuple[int, list[list[int]]]:
    """Components and distances, by looking at every pair: a step changes the dropped sites and one other at most."""
    n = len(z)
    far = [[0 if a == b else n + 1 for b in range(n)] for a in range(n)]
    for a, b in product(range(n), repeat=2):
        differ = {i for i, same in enumerate((z[a] == z[b]).tolist()) if not same}
        if a != b and any(len(differ - set(d)) <= change for d in sets):
            far[a][b] = 1
    for k, a, b in product(range(n), repeat=3):
        far[a][b] = min(far[a][b], far[a][k] + far[k][b])
    labels = [min(b for b in range(n) if far[a][b] <= n) for a in range(n)]
    return len(set(labels)), far


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize("dropped", [(0,), (2,), (0, 1), (1, 2)])
@pytest.mark.parametrize("change", [True, False], ids=["change one", "stay"])
def test_components_and_distances(problem: Problem, dropped: tuple[int, ...], change: bool) -> None:
    task = Task(problem.space, problem.program)
    found = whole(task, problem.answer)
    move = ChangeOne(problem.space) if change else Stay()
    candidate = Candidate("", Drop(problem.space, dropped), (dropped,), move, task.inverse)
    count, far = brute_force(found.z, [dropped], change)
    result = components(problem.space, candidate, found)
    assert result is not None
    assert result.count == count
    assert (result.reach == 1) == (count == 1)
    distance = distances(problem.space, candidate, found)
    assert distance is not None
    if count == 1:
        assert distance.largest <= max(map(max, far))
        assert distance.largest == max(far[0] + far[-1])


def test_a_family_joins_what_one_set_leaves_apart() -> None:
    problem = next(p for p in PROBLEMS if p.name == "all equal")
    task = Task(problem.space, problem.program)
    found = whole(task, True)
    none = components(problem.space, None, found)
    assert none is not None
    assert (none.count, none.alone) == (3, 3)
    single = Candidate("", Drop(problem.space, [0]), ((0,),), ChangeOne(problem.space), task.inverse)
    assert components(problem.space, single, found).count == 3  # type: ignore[union-attr]
    pairs = RandomDrop(problem.space, 2)
    family = Candidate("", pairs, tuple(pairs.sets), ChangeOne(problem.space), task.inverse)
    assert components(problem.space, family, found).count == 1  # type: ignore[union-attr]


def test_the_papers_running_example() -> None:
    """4×9+3+3 = 42 has no neighbour at all; dropping the first and last digit joins all of S_42."""
    task = formula_task(7)
    space, found = task.space, whole(task, 42)
    alone = components(space, None, found)
    assert alone is not None
    assert alone.count > 1000
    assert alone.alone > 0
    state = space.encode([(4, "*", 9, "+", 3, "+", 3)])
    apart = (found.z != state).sum(-1)
    assert int((apart == 0).sum()) == 1
    assert not bool((apart == 1).any())
    for dropped in ((0, 6), (2, 4)):
        candidate = Candidate("", Drop(space, dropped), (dropped,), ChangeOne(space), task.inverse)
        joined = components(space, candidate, found)
        assert joined is not None
        assert joined.count == 1
        assert joined.solutions == len(found.z)


def test_swaps_are_found_by_their_proposals() -> None:
    """The paper's walk on 4×4 Sudoku joins all 288 boards, each of which is alone without it."""
    task = sudoku_task(4)
    projection = diagonal(task.space, 4)
    found = whole(task, True)
    swap = Candidate("", projection, (projection.sites,), SwapInside(task.space, boxes(4)), task.inverse)
    joined = components(task.space, swap, found)
    assert joined is not None
    assert (joined.solutions, joined.count) == (288, 1)
    assert components(task.space, None, found).alone == 288  # type: ignore[union-attr]


def test_too_many_solutions_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    task = formula_task(3)
    found = whole(task, 5)
    monkeypatch.setattr("softground.inspection.connectivity.LARGEST", len(found.z) - 1)
    assert components(task.space, None, found) is None


def test_fibres_are_those_of_the_inverse() -> None:
    problem = next(p for p in PROBLEMS if p.name == "uneven")
    task = Task(problem.space, problem.program)
    sample = take(task, [0], 1, 0, Limit())
    candidate = Candidate("", Drop(problem.space, [2]), ((2,),), ChangeOne(problem.space), task.inverse)
    figures = measure(task, candidate, sample, 0)
    assert figures is not None
    # Where the first symbol is 0 all four completions are feasible, else only one.
    assert figures.largest == 4
    assert 1 < figures.mean < 4
    assert figures.complete == 1
    assert 0 < figures.entropy < 2
    assert 0 < figures.movement <= 1


def test_chains_arrive_where_solutions_are_connected() -> None:
    problem = next(p for p in PROBLEMS if p.name == "all equal")
    task = Task(problem.space, problem.program)
    sample = take(task, [True], 1, 0, Limit())
    pairs = Collapsed(task.inverse, RandomDrop(task.space, 2), ChangeOne(task.space))
    fine = lead(task.space, pairs, sample, Limit(), 0)
    assert fine is not None
    assert fine.arrived == 1
    assert fine.agreement == 1
    stuck = lead(task.space, Collapsed(task.inverse, Drop(task.space, [0]), ChangeOne(task.space)), sample, Limit(), 0)
    assert stuck is not None
    assert (stuck.arrived, stuck.steps, stuck.agreement) == (0, None, 0)


def test_the_rule_prefers_what_connects() -> None:
    problem = next(p for p in PROBLEMS if p.name == "all equal")
    task = Task(problem.space, problem.program)
    sample = take(task, [True], 1, 0, Limit())
    ranked = compare(task, sample, {}, Limit(), 0)
    assert ranked[0].satisfactory
    assert ranked[0].candidate.dropped == 2
    assert all(not c.satisfactory for c in ranked if c.candidate.dropped == 1)
    assert [c.satisfactory for c in ranked] == sorted((c.satisfactory for c in ranked), reverse=True)
    assert single_site(task, sample, Limit())[0].count == 3


def test_information_finds_the_sites_that_depend_on_each_other() -> None:
    space = Categorical([range(3)] * 4)
    generator = torch.Generator().manual_seed(0)
    free = torch.randint(3, (500, 2), generator=generator)
    z = torch.stack([free[:, 0], free[:, 1], free[:, 0], 2 - free[:, 1]], 1)
    shared = information(space, z)
    assert shared[0, 2] > 1.0
    assert shared[1, 3] > 1.0
    assert shared[0, 1] < 0.05
    assert correlated(shared, 2) == [(0, 2), (1, 3)]


def test_the_projection_of_a_kernel_is_a_candidate() -> None:
    task = formula_task(5)
    kernel = Collapsed(task.inverse, Drop(task.space, [2, 4]), ChangeOne(task.space))
    (mine,) = given("mine", kernel)
    assert mine.sets == ((2, 4),)
    assert mine.given
    sample = take(task, [7], 1, 0, Limit())
    names = [c.name for c in candidates(task, sample, {"mine": kernel}, 0)]
    assert names[:4] == ["mine", "any 1", "any 2", "any 3"]
    assert len(names) == 4 + 5 + 10 + 10
