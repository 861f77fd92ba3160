"""Linear equations between reals: the closed forms against integration, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from scipy import stats

import softground as sg
from softground.dice import Sampler
from softground.errors import ConstraintError
from softground.reals import Conditional, Equations, Gaussian
from softground.target import Target

FALSE_ALARM = 1e-6  # of the test of draws, on correct code
A = [[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, -2.0, 3.0]]
SPACE = Gaussian(4, sigma=0.7)
MEAN = torch.tensor([[0.3, -1.0, 2.0, 0.5], [1.0, 0.0, 0.0, -4.0]], dtype=torch.float64)
ANSWERS = [(2.0, -1.5), (0.25, 7.0)]


def rule() -> Equations:
    return Equations(A, SPACE, tolerance=1e-3)


def test_feasible_is_the_definition() -> None:
    z = torch.tensor([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.1]], dtype=torch.float64)
    assert rule().compute(z[:1]) == [(6.0, 8.0)]
    assert rule().feasible(z, rule().encode([(6, 8), (6, 8)])).tolist() == [True, False]
    assert rule().feasible(z, rule().encode([(6.0009, 8), (6, 8.3005)])).tolist() == [True, True]


@pytest.mark.parametrize("gamma", [1.0, 0.2])
def test_the_law_is_the_conditional_gaussian(gamma: float) -> None:
    """Against a basis of the null space, in which the condition is a plain Gaussian of fewer dimensions."""
    y, matrix = rule().encode(ANSWERS), torch.tensor(A, dtype=torch.float64)
    target = Target.at(SPACE.belief(MEAN.clone().requires_grad_()), y, gamma)
    law, variance = Conditional(rule()).law(target), gamma * 0.7**2
    for row in range(2):
        density = stats.multivariate_normal((matrix @ MEAN[row]).numpy(), (variance * matrix @ matrix.T).numpy())
        assert law.log_mass()[row].item() == pytest.approx(density.logpdf(y[row].numpy()), abs=1e-9)
    means = law.marginals()
    assert torch.allclose(means @ matrix.T, y)
    away = (means - MEAN)[:, :, None]
    assert torch.allclose(torch.linalg.svd(matrix).Vh[2:] @ away, torch.zeros(1, dtype=torch.float64), atol=1e-12)
    assert torch.allclose(law.mode(), means, atol=1e-6)
    # The gradient of log P(A z = y) is (E z − f) / v: what the softened grounding descends.
    (gradient,) = torch.autograd.grad(law.log_mass().sum(), target.weights.mean)
    assert torch.allclose(gradient, (means - MEAN) / variance)


def test_draws_have_the_laws_mean_and_covariance() -> None:
    count, matrix = 40_000, torch.tensor(A, dtype=torch.float64)
    y = rule().encode(ANSWERS[:1]).expand(count, -1)
    law = Conditional(rule()).law(Target.at(SPACE.belief(MEAN[:1].expand(count, -1)), y, 1.0))
    z = law.draw(Sampler(0))
    assert rule().feasible(z, y).all()
    covariance = 0.49 * (torch.eye(4, dtype=torch.float64) - torch.linalg.pinv(matrix) @ matrix)
    score = (z.mean(0) - law.marginals()[0]) / (covariance.diag() / count).sqrt()
    assert float(score.abs().max()) < stats.norm.isf(FALSE_ALARM / 8)
    assert torch.allclose(torch.cov(z.T), covariance, atol=0.02)  # eight standard errors


def test_completions_exist_or_are_refused_with_proof() -> None:
    inverse, y = Conditional(rule()), rule().encode([(6, 8)])
    z = torch.tensor([[1.0, 2.0, 3.0, 0.0]], dtype=torch.float64)
    fibre = inverse.fibre(z, y, sg.projections.Dropped(torch.tensor([[3]])))
    assert fibre.values.tolist() == [[[4.0]]]
    assert (fibre.mask.tolist(), fibre.complete.tolist()) == ([[True]], [True])
    none = inverse.fibre(z, rule().encode([(7, 8)]), sg.projections.Dropped(torch.tensor([[3]])))
    assert (none.mask.tolist(), none.complete.tolist()) == ([[False]], [True])
    many = inverse.fibre(z, y, sg.projections.Dropped(torch.tensor([[1, 2, 3]])))
    assert (many.mask.tolist(), many.complete.tolist()) == ([[True]], [False])


def test_the_ends_of_the_temperature_scale() -> None:
    y, belief = rule().encode(ANSWERS), SPACE.belief(MEAN)
    for gamma in (0.0, math.inf):
        law = Conditional(rule()).law(Target.at(belief, y, gamma))
        assert law.log_mass().tolist() == [0.0, 0.0]
        assert rule().feasible(law.mode(), y).all()


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1.0, 1.0]], r"shape \(1, 2\) was given"),
        ([], "one or more rows of 4"),
        ([[1.0] * 4, [2.0] * 4], "depend on each other"),
        ([[math.nan] * 4], "no number"),
    ],
)
def test_matrices_that_cannot_work(matrix: Any, message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        Equations(matrix, SPACE)


def test_readings_are_right_within_sigma_unless_told() -> None:
    assert Equations(A, SPACE).tolerance == 0.7


def test_wrong_answers_and_tolerances() -> None:
    with pytest.raises(ConstraintError, match="tolerance=0"):
        Equations(A, SPACE, tolerance=0.0)
    for wrong in (3.0, (1.0, math.inf)):
        with pytest.raises(ConstraintError, match=r"Example 1: .*expected 2 finite"):
            rule().encode([(1, 2), wrong])


@pytest.mark.parametrize("make", [sg.Program, sg.Scan, sg.SMT])
def test_rules_on_symbols_refuse_reals(make: Any) -> None:
    with pytest.raises(ConstraintError, match=r"Gaussian\(4 reals.*For reals there are Equations"):
        make(lambda *z: sum(z), SPACE)


def test_a_network_learns_from_totals() -> None:
    space = Gaussian(3, sigma=0.1)
    task = sg.Task(space, Equations([[1, 1, 1]], space))
    x = torch.rand(256, 3, 2, generator=torch.Generator().manual_seed(0))
    readings = x @ torch.tensor([3.0, -1.0])
    with sg.seeded(0):
        network = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Flatten())
    stages = sg.grounding_stages(task, epochs=10, optimizer=lambda p: torch.optim.Adam(p, lr=0.1))
    sg.Learner(task, network, stages, batch_size=16).fit(sg.Examples(x, readings.sum(1).tolist()))
    assert float((network(x) - readings).detach().abs().max()) < 0.2  # of readings from −1 to 3
