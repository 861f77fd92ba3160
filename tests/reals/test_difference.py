"""Difference constraints with ties: against the definition written out, and the properties their solvers rest on."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from reals import PROBLEMS, Reals
from softground.errors import ConstraintError
from softground.reals import Gaussian
from softground.reals.gaussian import snap
from softground.tasks.sdsp import Differences, random_graphs, sdsp_task


def graphs(nodes: int, count: int, seed: int, margin: float = 0.0) -> tuple[Tensor, Tensor, Tensor]:
    """Encoded answers, which hold their margin, true distances and next hops."""
    made = random_graphs(count, nodes, seed)
    return Differences(Gaussian(nodes), margin).encode(made.examples().y), made.distances.double(), made.hops


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_feasible_is_the_definition(problem: Reals) -> None:
    z = snap(2 * torch.randn(3_000, problem.sites, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    expected = problem.naive(z)
    assert 0 < int(expected.sum()) < len(z)
    assert torch.equal(problem.rule.feasible(z, problem.answer(len(z))), expected)


def test_feasible_on_graphs_is_the_definition() -> None:
    y, distances, hops = graphs(8, 40, seed=0, margin=0.5)
    rule = Differences(Gaussian(8), margin=0.5)
    z = snap(distances + torch.randn(distances.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    feasible = rule.feasible(z, y).tolist()
    for g in range(len(y)):
        expected = True
        for j in range(1, 8):
            value = {k: float(y[g, 0, j, k] + z[g, k]) for k in range(8) if y[g, 0, j, k] > 0}
            others = [v for k, v in value.items() if not hops[g, j, k]]
            expected &= min(v for k, v in value.items() if hops[g, j, k]) + 0.5 <= min(others, default=math.inf)
        assert feasible[g] == expected
    assert any(feasible)
    assert not all(feasible)


@pytest.mark.parametrize("margin", [0.0, 0.25, 1.0])
def test_true_distances_satisfy_every_margin_up_to_one(margin: float) -> None:
    rule = Differences(Gaussian(30))
    y, distances, _ = graphs(30, 50, seed=1, margin=margin)
    assert bool(rule.feasible(distances, y).all())
    y, distances, _ = graphs(30, 50, seed=1, margin=1.001)
    assert not bool(rule.feasible(distances, y).all())


def test_solutions_are_closed_under_shifts_and_minima() -> None:
    task = sdsp_task(12, margin=0.125)
    y, _, _ = graphs(12, 60, seed=2, margin=0.125)
    one, two = (task.inverse.start(y, seed).z for seed in (0, 1))
    assert bool((one != two).any(-1).all())
    for z in (one, two, one + 17, torch.minimum(one, two)):
        assert bool(task.feasible(z, y).all())


def test_answers_are_checked() -> None:
    rule = Differences(Gaussian(2))
    good = ([[0, 1], [1, 0]], [[0, 1], [0, 0]])
    assert rule.answer(rule.encode([good])[0]) == {0: [1]}
    assert rule.encode([]).shape == (0, 2, 2, 2)
    for weights, marks in (
        ([[0, -1], [1, 0]], good[1]),
        ([[0, math.nan], [1, 0]], good[1]),
        (good[0], [[1, 0], [0, 0]]),
        (good[0], [[0, 0.5], [0, 0]]),
    ):
        with pytest.raises(ConstraintError, match="Answer 1"):
            rule.encode([good, (weights, marks)])
    with pytest.raises(ConstraintError, match="shape"):
        rule.encode([torch.zeros(2, 3, 3)])
    with pytest.raises(ConstraintError):
        Differences(Gaussian(2), margin=-1.0)
