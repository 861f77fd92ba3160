"""REINFORCE: an unbiased gradient, its baseline, and draws from P(z|x)."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from baseline_cases import expected_gradient, gradient_of, logits
from exhaustive import Replay
from learner_cases import addition
from lessons import Lesson
from papers.li2023.baselines import Reinforce
from papers.li2023.baselines.reinforce import average, no_rewards, note_rewards
from problems import PROBLEMS, Problem
from reals import PROBLEMS as REALS
from softground import Task
from softground.dice import Sampler
from softground.errors import LearnerError, SpaceError
from softground.reals import Gaussian
from softground.reals.gaussian import GRID


def begun(problem: Problem, total: float, weight: float) -> Lesson:
    """A lesson for one example, whose average reward is total/weight."""
    task, y = Task(problem.space, problem.program), problem.program.encode([problem.answer])
    lesson = Lesson(Reinforce(), task, y)
    lesson.memory["baseline"][:] = torch.tensor([[total, weight]])
    return lesson


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize("rewards", [(0.0, 0.0), (0.27, 0.3)], ids=["no baseline", "baseline 0.9"])
def test_the_gradient_is_that_of_the_expected_reward(problem: Problem, rewards: tuple[float, float]) -> None:
    ours = expected_gradient(problem, lambda: begun(problem, *rewards))
    exact = gradient_of(problem, lambda log_p, feasible: -(log_p.exp() * feasible).sum() / problem.space.sites)
    assert torch.allclose(ours, exact, atol=1e-12)
    assert float(exact.abs().max()) > 1e-3


def test_a_good_baseline_lowers_the_variance() -> None:
    """What it is there for: with b = E[R] the gradients of single draws scatter less."""
    problem = PROBLEMS[0]
    output = logits(problem) * 0  # uniform: 12 of 64 states are feasible

    def scatter(average: float) -> float:
        leaf = output.repeat(4000, 1, 1).requires_grad_()
        same = torch.zeros(4000, dtype=torch.long)
        outcome = begun(problem, average, 1.0).loss(problem.space.belief(leaf), same, Sampler(5))
        (gradient,) = torch.autograd.grad(outcome.loss * 4000, leaf)
        return float(gradient.var(0).sum())

    assert scatter(12 / 64) < 0.9 * scatter(0.0)
    assert scatter(12 / 64) < 0.9 * scatter(0.8)


def feasible_share(lesson: Lesson, z: Tensor, index: Tensor) -> None:
    """One step in which the samples are z."""
    lesson.loss(lesson.task.space.belief(torch.zeros(len(z), 3, 4)), index, Replay(z))


def test_the_baseline_is_a_moving_average_of_earlier_rewards() -> None:
    task = addition()
    lesson = Lesson(Reinforce(decay=0.9), task, task.constraint.encode([3, 3, 3, 3]))
    right, wrong, everyone = [1, 1, 1], [3, 3, 3], torch.arange(4)
    rewards = []
    for good in (4, 0, 2, 1):
        z = torch.tensor([right] * good + [wrong] * (4 - good))
        feasible_share(lesson, z, everyone)
        rewards.append(good / 4)
        weights = [0.9 ** (len(rewards) - 1 - t) for t in range(len(rewards))]
        expected = sum(w * r for w, r in zip(weights, rewards, strict=True)) / sum(weights)
        total, weight = lesson.memory["baseline"][3].tolist()
        assert total / weight == pytest.approx(expected)


def test_every_process_finds_its_own_baseline_in_a_shared_checkpoint() -> None:
    """A checkpoint takes each example's row from the process that owns it."""
    task = addition()
    y = task.constraint.encode([3, 3, 3, 3])
    owned = (torch.tensor([0, 2]), torch.tensor([1, 3]))
    processes = (Lesson(Reinforce(), task, y), Lesson(Reinforce(), task, y))
    right = torch.tensor([[1, 1, 1], [1, 1, 1]])
    for lesson, own, z in zip(processes, owned, (right, right + 1), strict=True):
        feasible_share(lesson, z, own)
    states = [lesson.memory["baseline"].clone() for lesson in processes]
    assert not torch.equal(*states)
    gathered = torch.where(torch.arange(4)[:, None] % 2 == 0, *states)
    for lesson, own, before in zip(processes, owned, states, strict=True):
        feasible_share(lesson, right, own)
        after = lesson.memory["baseline"].clone()
        assert not torch.equal(after, before)
        lesson.memory["baseline"] = gathered.clone()
        feasible_share(lesson, right, own)
        assert torch.equal(lesson.memory["baseline"], after)


def test_reals_have_the_gradient_of_the_feasible_share() -> None:
    """One inequality z₀ − z₁ ≤ 1 between two normal numbers: P(S_y) is a value of Φ."""
    problem, points = REALS[0], 400
    middle = (torch.arange(points, dtype=torch.float64) + 0.5) / points
    mean = torch.tensor([problem.centre], dtype=torch.float64)
    leaf = mean.repeat(points**2, 1).requires_grad_()
    rule = problem.rule
    lesson = Lesson(Reinforce(), Task(rule.space, rule), problem.answer())

    class Grid:
        """Every pair of quantiles once."""

        def uniform(self, rows: int) -> Tensor:
            return torch.cartesian_prod(middle, middle).flatten()

    same = torch.zeros(points**2, dtype=torch.long)
    outcome = lesson.loss(rule.space.belief(leaf), same, Grid())  # type: ignore[arg-type]
    (gradient,) = torch.autograd.grad(outcome.loss, leaf)
    centre = mean.clone().requires_grad_()
    share = torch.special.ndtr((1 - (centre[0, 0] - centre[0, 1])) / (problem.sigma * math.sqrt(2)))
    (exact,) = torch.autograd.grad(-share / 2, centre)
    assert torch.allclose(gradient.sum(0), exact[0], atol=2e-3)
    assert float(exact.abs().max()) > 0.05


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_symbols_are_drawn_from_the_belief(problem: Problem) -> None:
    states, _ = problem.readings
    dice = Replay(states)
    belief = problem.belief(len(states))
    assert torch.equal(belief.sample(dice), states)  # a choice a site, in the sites' order
    for site in range(problem.space.sites):
        step = Replay(states[:, :site])
        belief.sample(step)
        assert step.next is not None
        assert torch.allclose(step.next, belief.read[:, site].exp())


def test_reals_are_drawn_on_the_grid_and_the_flat_law_is_refused() -> None:
    mean = torch.tensor([[1.0, -2.0]], requires_grad=True)
    belief = Gaussian(2, sigma=0.5).belief(mean.expand(20_000, -1))
    z = belief.sample(Sampler(1))
    assert not z.requires_grad
    assert torch.equal(z / GRID, (z / GRID).round())
    # Means of 20,000 draws: off by more than 5 standard errors in one case of 2 million.
    assert torch.allclose(z.mean(0), mean[0].double(), atol=5 * 0.5 / math.sqrt(20_000))
    assert torch.allclose(z.std(0), torch.full((2,), 0.5, dtype=torch.float64), atol=5 * 0.5 / math.sqrt(40_000))
    assert torch.equal(belief.tempered(0.0).sample(Sampler(0)), belief.mode())
    with pytest.raises(SpaceError, match="cannot be sampled"):
        belief.tempered(math.inf).sample(Sampler(0))


@pytest.mark.parametrize("decay", [1.0, -0.1, 2.0, math.nan])
def test_a_decay_that_gives_no_average_is_refused(decay: float) -> None:
    with pytest.raises(LearnerError, match="expected a number from 0 to below 1"):
        Reinforce(decay)


def test_the_baseline_is_the_weighted_sum_over_the_weights() -> None:
    totals = torch.tensor([[9.0, 1.0], [0.27, 0.3], [0.0, 0.0]], dtype=torch.float64)
    assert float(average(totals, torch.tensor([1, 0]))) == pytest.approx(0.9)  # of the first example asked for
    assert float(average(totals, torch.tensor([2]))) == 0.0  # before the first reward
    nothing = no_rewards(torch.zeros(4))
    assert (nothing.shape, nothing.dtype, bool(nothing.any())) == ((4, 2), torch.float64, False)
    note_rewards(nothing, torch.tensor([3]), torch.tensor([1.0, 0.0, 0.5], dtype=torch.float64), 0.9)
    assert torch.allclose(nothing, torch.tensor([[0.05, 0.1]], dtype=torch.float64).expand(4, 2))
