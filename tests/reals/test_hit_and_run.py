"""Hit-and-run against numerical integration of Q*, and points of polyhedra against other solvers.

Every case has two free dimensions, over which Q* is integrated. Chains begin at the states that the rule alone gives
and walk until they forget them; there are so many that each is one independent draw. All comparisons together raise a
false alarm with a probability below 2 · FALSE_ALARM.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from scipy import optimize, stats
from torch import Tensor

import softground as sg
from softground.dice import Sampler
from softground.errors import ConstraintError, InfeasibleAnswer, LearnerError
from softground.reals import HitAndRun, Interior, LinearRule, PointMass, truncated
from softground.reals.linear import Polyhedra
from softground.target import Target

FALSE_ALARM = 1e-6
DRAWS, STEPS, POINTS = 4_000, 12, 600
INTEGRAL_ERROR = 0.004  # of the midpoint rule at edges that fall between its points
SIGMA = 0.8


@dataclass(frozen=True)
class Case:
    """A rule, the same set written out by hand, and how two free numbers make a state that keeps its equations."""

    rule: Callable[[Any, Any], Any]
    naive: Callable[[Tensor], Tensor]
    lift: Callable[[Tensor, Tensor], list[Tensor]]
    centre: tuple[float, ...]
    y: float = 1.0

    @property
    def constraint(self) -> LinearRule:
        return LinearRule(self.rule, sg.Gaussian(len(self.centre), SIGMA))

    @cache  # noqa: B019
    def law(self, gamma: float) -> tuple[Tensor, Tensor]:
        """States on a grid, and Q* of each; a coarse grid finds where all but nothing of Q* is."""
        box = torch.tensor([[-8.0, 8.0]] * 2, dtype=torch.float64)
        for points in (POINTS // 4, POINTS):
            places = (torch.arange(points, dtype=torch.float64) + 0.5) / points
            free = torch.cartesian_prod(*(low + (high - low) * places for low, high in box))
            z = torch.stack(self.lift(*free.T), 1)
            energy = (z - torch.tensor(self.centre)).square().sum(1) / (2 * gamma * SIGMA**2)
            held = self.naive(z) & (energy < energy[self.naive(z)].min() + 25)
            edge = (box[:, 1] - box[:, 0]) / points
            box = torch.stack([free[held].amin(0) - edge, free[held].amax(0) + edge], 1)
        return z[held], (-energy[held]).softmax(0)


CASES = {
    "a strip": Case(
        lambda z, y: [z[0] + 2 * z[1] >= 0.2, z[0] + 2 * z[1] <= y, z[0] >= -0.5],
        lambda z: (z[:, 0] + 2 * z[:, 1] >= 0.2) & (z[:, 0] + 2 * z[:, 1] <= 1) & (z[:, 0] >= -0.5),
        lambda a, b: [a, b],
        (0.9, 0.4),
    ),
    "an order with a total": Case(
        lambda z, y: [z[0] <= z[1], z[1] <= z[2], sum(z) == y],
        lambda z: (z[:, 0] <= z[:, 1]) & (z[:, 1] <= z[:, 2]),
        lambda a, b: [a, b, 1 - a - b],
        (0.9, 0.4, -0.6),
    ),
    "ranges and balances": Case(
        lambda z, y: [z[0] + z[1] == z[2], z[3] - z[1] == y, z[0] >= 0, z[0] <= 1.5, z[3] >= 0],
        lambda z: (z[:, 0] >= 0) & (z[:, 0] <= 1.5) & (z[:, 3] >= 0),
        lambda a, b: [a, b, a + b, b + 1],
        (-0.3, -0.7, 0.8, 1.0),
    ),
}


def p_values(z: Tensor, grid: Tensor, weight: Tensor) -> Iterator[float]:
    """Each component's distribution, and each mean and second moment, against the integrals."""
    sites, error = range(z.shape[1]), 1 / math.sqrt(len(z))
    for i in sites:
        order = grid[:, i].argsort()
        law = np.interp(z[:, i].sort().values, grid[order, i], weight[order].cumsum(0))
        places = np.arange(len(z) + 1) / len(z)
        distance = max(np.abs(law - places[1:]).max(), np.abs(law - places[:-1]).max())
        yield float(stats.kstwo.sf(max(distance - 2 * INTEGRAL_ERROR, 0.0), len(z)))
    moments = [lambda s, i=i: s[:, i] for i in sites]
    moments += [lambda s, i=i, k=k: s[:, i] * s[:, k] for i in sites for k in range(i + 1)]
    for moment in moments:
        value = moment(z)
        gap = max(0.0, abs(float(value.mean() - (weight * moment(grid)).sum())) - INTEGRAL_ERROR)
        yield 2 * float(stats.norm.sf(gap / (float(value.std()) * error)))


def worst(case: Case, gamma: float, kernel: HitAndRun, walked_at: float) -> tuple[float, Tensor]:
    """The least p-value of chains that took some steps, times the number of comparisons; and the reported means."""
    rule = kernel.rule
    y, mean = rule.encode([case.y] * DRAWS), torch.tensor([case.centre]).expand(DRAWS, -1).double()
    start = Interior(rule).start(y, 0)
    assert start.found.all()
    z, dice, target = start.z, Sampler(1), Target.at(rule.space.belief(mean), y, walked_at)
    for _ in range(STEPS):
        z, info = kernel.step(dice, z, target)
    assert info.marginals is not None
    assert rule.polyhedra(y).within(z).all()
    found = [*p_values(z, *case.law(gamma))]
    return min(found) * len(found), info.marginals


@pytest.mark.parametrize("gamma", [1.0, 0.2])
@pytest.mark.parametrize("name", CASES)
def test_the_law_is_that_of_integration(name: str, gamma: float) -> None:
    case = CASES[name]
    least, means = worst(case, gamma, HitAndRun(case.constraint), gamma)
    assert least > FALSE_ALARM / 6
    grid, weight = case.law(gamma)
    truth = (weight[:, None] * grid).sum(0)
    error = stats.norm.isf(FALSE_ALARM / 60) * means.std(0) / math.sqrt(DRAWS) + INTEGRAL_ERROR
    assert ((means.mean(0) - truth).abs() < error).all()
    assert (means.std(0) < (weight[:, None] * (grid - truth).square()).sum(0).sqrt()).all()  # Rao and Blackwell


def test_the_integral_is_that_of_a_law_in_closed_form() -> None:
    free = Case(lambda z, y: [z[0] <= y], lambda z: z[:, 0] <= 1, lambda a, b: [a, b], (0.5, 0.25))
    grid, weight = free.law(1.0)
    truth = stats.truncnorm(-math.inf, 0.5 / SIGMA, 0.5, SIGMA)
    assert float((weight * grid[:, 0]).sum()) == pytest.approx(truth.mean(), abs=INTEGRAL_ERROR)
    assert float((weight * grid[:, 1].square()).sum()) == pytest.approx(0.0625 + SIGMA**2, abs=INTEGRAL_ERROR)


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_that_is_too_warm_is_caught(name: str) -> None:
    case = CASES[name]
    assert worst(case, 1.0, HitAndRun(case.constraint), 1.35)[0] < FALSE_ALARM / 6


along, span, draw = Polyhedra.along, Polyhedra.span, truncated.draw


@pytest.mark.parametrize(
    ("name", "where", "what", "broken"),
    [
        ("ranges and balances", Polyhedra, "along", lambda self, d: 1.3 * along(self, d)),  # no unit vectors
        ("an order with a total", Polyhedra, "span", lambda self, z, d: tuple(0.9 * t for t in span(self, z, d))),
        ("an order with a total", truncated, "draw", lambda u, at, *cut: draw(u, 0.8 * at, *cut)),  # not at the mean
    ],
)
def test_broken_kernels_are_caught(
    name: str, where: Any, what: str, broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, what, broken)
    case = CASES[name]
    assert worst(case, 1.0, HitAndRun(case.constraint), 1.0)[0] < FALSE_ALARM / 6


def random_bodies(count: int, seed: int) -> tuple[Polyhedra, Tensor]:
    """Polyhedra of an equation and five inequalities in four dimensions that hold a point, and that point."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(count, 6, 4, generator=generator, dtype=torch.float64)
    point = torch.randn(count, 4, generator=generator, dtype=torch.float64)
    value = (rows @ point[..., None]).squeeze(-1)
    room = torch.rand(count, 2, 6, generator=generator, dtype=torch.float64)
    low, high = value - room[:, 0], value + room[:, 1]
    low[:, 0] = high[:, 0] = value[:, 0]
    low[:, 1:3], high[:, 3] = -math.inf, math.inf
    return Polyhedra.of(rows, low, high), point


def test_nearest_points_are_those_of_a_quadratic_program() -> None:
    bodies, _ = random_bodies(12, 0)
    centre = 3 * torch.randn(12, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = bodies.nearest(centre)
    assert bodies.within(found).all()
    for b in range(12):
        rows, low, high = (part[b].numpy() for part in bodies[:3])
        linear = [optimize.LinearConstraint(rows[part], low[part], high[part]) for part in (slice(1), slice(1, None))]
        aim = centre[b].numpy()
        best = optimize.minimize(
            lambda z, aim=aim: ((z - aim) ** 2).sum(), found[b].numpy(), constraints=linear, method="SLSQP"
        )
        assert best.success
        assert np.abs(best.x - found[b].numpy()).max() < 1e-4


def test_rows_that_depend_on_each_other_do_not_stop_the_search_early() -> None:
    """A box under a known total: the plane makes each row a sum of the others, and z pauses off its place."""
    rows = torch.cat([torch.eye(3), torch.ones(1, 3)]).double()[None]
    low, high = (torch.tensor([[*ends, 8.0]], dtype=torch.float64) for ends in ((3, 2, 2), (5, 3, 4)))
    found = Polyhedra.of(rows, low, high).nearest(torch.tensor([[10.0, -5.0, -5.0]]))
    assert found[0].tolist() == pytest.approx([4, 2, 2])


def test_middles_have_room_and_empty_bodies_are_proved() -> None:
    bodies, point = random_bodies(12, 2)
    z, room = bodies.middle(0.05)
    assert (room > 1e-3).all()
    direction = torch.randn(12, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    assert bodies.within(z + room[:, None] * bodies.along(direction)).all()
    assert bodies.within(point).all()
    away = Polyhedra.of(bodies.rows, bodies.low.clone(), bodies.high.clone())
    away.low[5, 4] = away.high[5, 4] + 0.5  # above its own upper bound
    assert (away.middle(0.05)[1] < 0).nonzero().flatten().tolist() == [5]


def test_infeasible_answers_are_named_and_so_is_what_leaves_no_room() -> None:
    space = sg.Gaussian(2)
    rule = LinearRule(lambda z, y: [z[0] + z[1] == y, z[0] >= 0, z[1] >= 0], space)
    task, x = sg.Task(space, rule), torch.rand(4, 2)
    start = task.inverse.start(rule.encode([3.0, -1.0]), 0)
    assert (start.found.tolist(), start.proved.tolist()) == ([True, False], [True, True])
    learner = sg.Learner(task, torch.nn.Linear(2, 2), sg.grounding_stages(task, epochs=1))
    with pytest.raises(InfeasibleAnswer, match=r"1 example\(s\) are infeasible: 2 \(answer -1.0\)"):
        learner.fit(sg.Examples(x, [1.0, 2.0, -1.0, 3.0]))
    with pytest.raises(InfeasibleAnswer) as caught:
        task.inverse.most_probable(Target(space.belief(x[:2]), rule.encode([-2.0, 3.0]), 1.0))
    assert caught.value.examples == (0,)
    with pytest.raises(ConstraintError, match=r"1 example\(s\), the first is 1 \(answer 0.0\).*no room"):
        task.inverse.start(rule.encode([3.0, 0.0]), 0)


def test_completions_exist_or_are_refused_with_proof() -> None:
    rule = LinearRule(lambda z, y: [sum(z) == y, z[0] <= z[1], z[1] <= z[2]], sg.Gaussian(3))
    inverse, z = Interior(rule), torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64).expand(2, -1)
    fibre = inverse.fibre(z, rule.encode([9.0, 2.0]), sg.Dropped(torch.tensor([[1, 2]] * 2)))
    assert fibre.mask.tolist() == [[True], [False]]
    assert fibre.complete.tolist() == [False, True]
    assert fibre.values[0, 0].tolist() == pytest.approx([4.0, 4.0])


def test_at_zero_temperature_the_chain_is_at_the_nearest_point() -> None:
    case = CASES["an order with a total"]
    rule = case.constraint
    y, belief = rule.encode([case.y]), rule.space.belief(torch.tensor([case.centre]))
    z = Interior(rule).start(y, 0).z
    with pytest.raises(LearnerError, match=r"γ = 0\.0 was given"):
        HitAndRun(rule).step(Sampler(0), z, Target.at(belief, y, 0.0))
    point, _ = PointMass(Interior(rule)).step(Sampler(0), z, Target.at(belief, y, 0.0))
    assert point.tolist()[0] == pytest.approx([1 / 3] * 3)  # reversed, so that all three meet
    cold, _ = HitAndRun(rule, sweeps=40).step(Sampler(0), z, Target.at(belief, y, 1e-8))
    assert float((cold - point).abs().max()) < 1e-3
