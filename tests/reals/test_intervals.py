"""Intervals, least solutions, completions and nearest points: against brute force, Z3 and a quadratic program."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor

from papers.li2023.baselines import Z3Reals
from softground.dice import Sampler
from softground.inverses import most_probable as nearest_point
from softground.learner.prediction import most_probable
from softground.projections import Dropped
from softground.reals import Gaussian, PointMass, point_mass
from softground.reals.gaussian import GRID, GaussianBelief, snap
from softground.target import Target
from softground.tasks.sdsp import Differences, Intervals, differences, random_graphs, sdsp_task
from softground.tasks.sdsp.differences import interval, nearest, project


def setting(nodes: int, count: int, seed: int, margin: float = 0.25) -> tuple[Differences, Tensor]:
    rule = Differences(Gaussian(nodes), margin)
    return rule, rule.encode(random_graphs(count, nodes, seed).examples().y)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_shifts_are_feasible_exactly_inside_the_interval(size: int) -> None:
    rule, y = setting(9, 150, seed=size)
    z = Intervals(rule).start(y, seed=0).z
    generator = torch.Generator().manual_seed(size)
    sites = torch.rand(z.shape, generator=generator).argsort(1)[:, :size]
    block = torch.zeros_like(z, dtype=torch.bool).scatter(1, sites, True)
    low, high = interval(rule.rows(y), z, block)
    assert bool(((low <= 0) & (high >= 0)).all())
    assert bool((torch.isfinite(low) & torch.isfinite(high)).any())

    def feasible(shift: Tensor) -> Tensor:
        return rule.feasible(torch.where(block, z + shift[:, None], z), y)

    for end, outward in ((low, -GRID), (high, GRID)):
        bounded = torch.isfinite(end)
        assert bool(feasible(torch.where(bounded, end, 0.0)).all())
        assert not bool(feasible(torch.where(bounded, end + outward, 0.0))[bounded].any())
        assert bool(feasible(torch.where(bounded, 0.0, 1e5 * np.sign(outward))).all())
    for share in (0.25, 0.5, 0.9):  # one interval, without holes
        inside = low.clamp(min=-50) + snap(share * (high.clamp(max=50) - low.clamp(min=-50)))
        assert bool(feasible(torch.minimum(torch.maximum(inside, low), high)).all())


def test_the_rise_gives_the_least_solution() -> None:
    rule, y = setting(7, 100, seed=3)
    floor = snap(4 * torch.randn(100, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    least, settled = rule.rows(y).raised(floor)
    assert bool(settled.all())
    assert bool(rule.feasible(least, y).all())
    assert bool((least >= floor).all())
    # Any other solution above the floor lies above it.
    for seed in range(20):
        other = Intervals(rule, spread=3.0).start(y, seed).z
        other = other + (floor - other).amax(-1, keepdim=True)
        assert bool((other >= least).all())
    # No single component can be lower.
    for site in range(7):
        lower = least.clone()
        lower[:, site] -= GRID
        assert not bool((rule.feasible(lower, y) & (lower >= floor).all(-1)).any())


@pytest.mark.parametrize(("nodes", "dropped"), [(5, [1]), (6, [1, 4]), (8, [2, 3, 6]), (10, [4, 0, 9, 7, 5])])
def test_completions_against_z3(nodes: int, dropped: list[int]) -> None:
    rule, y = setting(nodes, 40, seed=nodes)
    z = Intervals(rule).start(y, seed=1).z
    noise = snap(3 * torch.randn(z.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64))
    z[10:] += (noise * (torch.rand(z.shape, generator=torch.Generator().manual_seed(3)) < 0.3))[10:]
    z[:, dropped] = noise[:, dropped]  # dropped entries are only a hint
    sites = torch.tensor(dropped).expand(len(z), -1)
    ours, theirs = Intervals(rule).fibre(z, y, Dropped(sites)), Z3Reals(rule).fibre(z, y, Dropped(sites))
    assert torch.equal(ours.mask, theirs.mask)
    assert torch.equal(ours.complete, theirs.complete)
    assert torch.equal(ours.complete, ours.count == 0)
    assert bool(ours.mask[:10].all())
    assert not bool(ours.mask.all())
    for fibre in (ours, theirs):
        state = z.scatter(1, sites, fibre.values[:, 0])
        assert torch.equal(rule.feasible(state, y), fibre.mask[:, 0])


def test_completions_do_not_stay_where_their_rise_began() -> None:
    rule, y = setting(30, 1500, seed=1, margin=2.0**-10)
    inverse, generator = Intervals(rule), torch.Generator().manual_seed(0)
    z = inverse.start(y, seed=0).z
    for _ in range(3):  # a walk that takes every completion, as the paper's warm-up does
        sites = torch.rand(z.shape, generator=generator).argsort(1)[:, :5]
        one = torch.randint(30, (len(z), 1), generator=generator)
        moved = z.scatter_add(1, one, snap(torch.randn(one.shape, generator=generator, dtype=torch.float64)))
        fibre = inverse.fibre(moved, y, Dropped(sites))
        z = torch.where(fibre.mask, moved.scatter(1, sites, fibre.values[:, 0]), z)
        assert float(z.abs().max()) < 1e3
    assert bool(rule.feasible(z, y).all())


@pytest.mark.parametrize("margin", [0.0, 0.25, 1.0])
def test_first_states_need_only_the_answer(margin: float) -> None:
    for nodes, count in ((30, 60), (6, 20)):
        rule, y = setting(nodes, count, seed=5, margin=margin)
        for inverse in (Intervals(rule), Z3Reals(rule)) if nodes == 6 else (Intervals(rule),):
            start = inverse.start(y, seed=0)
            assert bool(start.found.all())
            assert bool(rule.feasible(start.z, y).all())


def test_an_answer_without_solutions_is_not_found() -> None:
    rule = Differences(Gaussian(2), margin=0.5)
    # z₀ + 1 leads z₁ + 1 in one row, and the other way round in the other.
    y = rule.encode([([[1, 1], [1, 1]], [[1, 0], [0, 1]])])
    assert not bool(Intervals(rule).start(y, seed=0).found.any())
    start = Z3Reals(rule).start(y, seed=0)
    assert not bool(start.found.any())
    assert bool(start.proved.all())


def quadratic_program(rule: Differences, y: Tensor, centre: Tensor) -> float:
    """The squared distance to S_y by SLSQP, the best over every choice of one marked entry a row."""
    rows = rule.rows(y[None])
    marked = [row.isfinite().nonzero().flatten().tolist() for row in rows.marked[0]]
    others = [row.isfinite().nonzero().flatten().tolist() for row in rows.others[0]]
    asked = [j for j in range(len(marked)) if others[j]]
    best = math.inf
    for choice in itertools.product(*(marked[j] for j in asked)):
        a, c = [], []
        for j, h in zip(asked, choice, strict=True):
            for k in others[j]:
                line = np.zeros(len(marked))
                line[h] -= 1
                line[k] += 1
                a.append(line)
                c.append(float(rows.others[0, j, k] - rows.marked[0, j, h]))
        if not a:
            return 0.0
        f, matrix, bound = centre.numpy(), np.array(a), np.array(c)
        found = minimize(
            lambda z, f=f: ((z - f) ** 2).sum(),
            f,
            jac=lambda z, f=f: 2 * (z - f),
            method="SLSQP",
            constraints={"type": "ineq", "fun": lambda z, m=matrix, b=bound: m @ z + b, "jac": lambda z, m=matrix: m},
            options={"ftol": 1e-12, "maxiter": 500},
        )
        if found.success:
            best = min(best, float(found.fun))
    return best


def test_nearest_points_against_a_quadratic_program() -> None:
    rule, y = setting(6, 60, seed=7)
    centre = 3 * torch.randn(60, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    point = nearest_point(Intervals(rule, tolerance=1e-7, limit=5_000), Target(GaussianBelief(centre, 1.0), y, 1.0))
    assert bool(rule.feasible(point, y).all())
    ours = (point - centre).square().sum(-1)
    truth = torch.tensor([quadratic_program(rule, *pair) for pair in zip(y, centre, strict=True)]).double()
    ties = ((y[:, 1] > 0).sum(-1) > 1).any(-1)
    assert torch.allclose(ours[~ties], truth[~ties], rtol=1e-4, atol=1e-4)
    # With ties the choice of entries is a local optimum: never nearer than the nearest, and mostly it.
    assert 5 < int(ties.sum()) < 55
    assert bool((ours > truth - 1e-4).all())
    assert float((ours[ties] < truth[ties] + 1e-3).double().mean()) > 0.7


def test_entries_that_bind_nothing_change_nothing() -> None:
    """As a GPU sees them: room for more than there are, and steps that nothing ends."""
    task = sdsp_task(6, margin=0.25)
    rows = task.constraint.rows(task.constraint.encode(random_graphs(20, 6, 0).examples().y))  # type: ignore[attr-defined]
    centre = 3 * torch.randn(20, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    wanted = project(rows, centre, 1e-4, 2_000)
    unasked = nearest(rows, centre, limit=2_000, most=task.constraint.most_others)  # type: ignore[attr-defined]
    assert bool(rows.feasible(unasked).all())
    assert torch.allclose(unasked, nearest(rows, centre), rtol=0, atol=1e-5)
    alone = torch.cat([project(rows.select(torch.tensor([i])), centre[[i]], 1e-4, 2_000) for i in range(20)])
    assert torch.allclose(alone, wanted, rtol=0, atol=1e-9)


def test_a_point_that_nobody_looked_at_is_feasible_or_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a GPU records the step, a chain whose last rise did not end stays where it is."""
    task, graphs = sdsp_task(30, margin=1.0), random_graphs(8, 30, 0)
    y = task.constraint.encode(graphs.examples().y)
    target, z = Target(GaussianBelief(0.5 * graphs.distances, 0.0), y, 0.0), task.inverse.start(y, 0).z
    looked, _ = PointMass(task.inverse).step(Sampler(0), z, target)
    monkeypatch.setattr(Intervals, "recorded", lambda *_: True)
    monkeypatch.setattr(point_mass, "unchecked", lambda _: True)
    after, _ = PointMass(task.inverse).step(Sampler(0), z, target)
    assert bool(task.feasible(after, y).all())
    assert torch.allclose(after, looked, atol=1e-2)
    monkeypatch.setattr(differences, "LAST_RISES", 0)
    after, _ = PointMass(task.inverse).step(Sampler(0), z, target)
    assert bool(task.feasible(after, y).all())
    assert bool((after == z).all(1).any())


@pytest.mark.parametrize("margin", [2.0**-10, 1.0])
def test_what_the_task_trains_on_is_near_the_nearest_point(margin: float) -> None:
    task, graphs = sdsp_task(30, margin=margin), random_graphs(48, 30, 0)
    y = task.constraint.encode(graphs.examples().y)
    noise = torch.randn(48, 30, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for scale, spread in ((0.5, 3.0), (0.9, 1.0), (0.0, 2.0)):
        centre = scale * graphs.distances.double() + spread * noise
        exact = Intervals(task.constraint, tolerance=1e-6, limit=20_000)  # type: ignore[arg-type]
        target = Target(GaussianBelief(centre, 1.0), y, 1.0)
        points = [nearest_point(inverse, target) for inverse in (task.inverse, exact)]
        ours, least = ((point - centre).norm(dim=1) for point in points if point is not None)
        assert float((ours / least).mean()) < 1.01


def test_constrained_prediction_is_the_nearest_point() -> None:
    task = sdsp_task(6, margin=0.25)
    y = task.constraint.encode(random_graphs(20, 6, 0).examples().y)
    belief = task.space.belief(2 * torch.randn(20, 6, generator=torch.Generator().manual_seed(0)))
    z = most_probable(task, belief, y, torch.arange(20))
    assert bool(task.feasible(z, y).all())
    assert torch.allclose(z, nearest_point(task.inverse, Target(belief, y, 1.0)), atol=1e-3)  # type: ignore[arg-type]
    assert torch.equal(most_probable(task, belief, None, torch.arange(20)), belief.mode())
    own = task.feasible(belief.mode(), y)
    assert torch.equal(z[own], belief.mode()[own])
