"""MAPO: an unbiased gradient where nothing is clipped, the clipped one of Liang et al., and the memory."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from baseline_cases import expected_gradient, gradient_of
from exhaustive import Replay
from learner_cases import adam, addition, examples, make_learner
from lessons import Lesson
from papers.li2023.baselines import MAPO
from papers.li2023.baselines.mapo import LARGEST_RATIO
from problems import PROBLEMS, Problem
from reals import PROBLEMS as REALS
from softground import Stage, Task
from softground.dice import Sampler
from softground.errors import CheckpointError, LearnerError

AVERAGE = 0.4


def begun(problem: Problem, remembered: Tensor, weight: float) -> Lesson:
    """A lesson for one example that remembers some states, after an average reward of 0.4."""
    task, y = Task(problem.space, problem.program), problem.program.encode([problem.answer])
    lesson = Lesson(MAPO(weight=weight, capacity=8), task, y)
    state = lesson.memory
    state["memory"][0, : len(remembered)] = remembered
    state["rewards"][0, : len(remembered)] = 1.0
    state["held"][0] = len(remembered)
    state["baseline"][:] = torch.tensor([AVERAGE, 1.0])
    return lesson


def split_gradient(problem: Problem, remembered: Tensor, weight: float) -> Tensor:
    """The estimator's expectation as the paper writes it, added up over all readings."""
    known = (problem.readings[0][:, None] == remembered).all(-1).any(-1)

    def loss(log_p: Tensor, feasible: Tensor) -> Tensor:
        p = log_p.detach().exp()
        mass = p[known].sum()
        share = mass.clamp(min=weight) if len(remembered) else mass
        inside = (p / mass * (1 - AVERAGE) * log_p)[known].sum() if len(remembered) else 0.0
        outside = (p / (1 - mass) * (feasible.double() - AVERAGE) * log_p)[~known].sum()
        return -(share * inside + (1 - share) * outside) / problem.space.sites

    return gradient_of(problem, loss)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize("count", [0, 1, 2])
def test_unclipped_it_has_the_gradient_of_the_expected_reward(problem: Problem, count: int) -> None:
    ours = expected_gradient(problem, lambda: begun(problem, problem.states[:count], weight=0.0))
    exact = gradient_of(problem, lambda log_p, feasible: -(log_p.exp() * feasible).sum() / problem.space.sites)
    assert torch.allclose(ours, exact, atol=1e-12)
    assert float(exact.abs().max()) > 1e-3


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_clipped_it_gives_the_memory_its_share(problem: Problem, count: int) -> None:
    remembered = problem.states[:count]
    ours = expected_gradient(problem, lambda: begun(problem, remembered, weight=0.5))
    assert torch.allclose(ours, split_gradient(problem, remembered, 0.5), atol=1e-12)
    exact = split_gradient(problem, remembered, 0.0)
    assert torch.allclose(ours, exact, atol=1e-9) is (count == 0)  # an empty memory has no share to clip


def step(lesson: Lesson, z: list[list[int]], output: Tensor | None = None) -> dict[str, Tensor]:
    """One step in which the examples draw z."""
    output = torch.zeros(len(z), 3, 4) if output is None else output
    return lesson.loss(lesson.task.space.belief(output), dice=Replay(torch.tensor(z))).figures


def contents(lesson: Lesson, example: int) -> list[list[int]]:
    known = lesson.memory
    memory: list[list[int]] = known["memory"][example, : int(known["held"][example])].tolist()
    return memory


def test_the_memory_holds_each_rewarded_sample_once() -> None:
    task = addition()
    y = task.constraint.encode([3, 4])
    lesson = Lesson(MAPO(capacity=3), task, y)
    assert step(lesson, [[1, 1, 1], [1, 1, 1]])["remembered"].tolist() == [0, 0]
    step(lesson, [[1, 1, 1], [0, 2, 2]])
    step(lesson, [[0, 0, 0], [0, 2, 2]])
    found = step(lesson, [[0, 0, 3], [2, 2, 0]])
    assert found["remembered"].tolist() == [1, 1]
    assert found["memory_weight"].tolist() == [0.5, 0.5]
    assert contents(lesson, 0) == [[1, 1, 1], [0, 0, 3]]
    assert contents(lesson, 1) == [[0, 2, 2], [2, 2, 0]]


def test_the_unwritten_part_of_the_memory_is_no_memory() -> None:
    """(0, 0, 0) is what an empty place looks like; here it is feasible."""
    task = addition()
    y = task.constraint.encode([0])
    lesson = Lesson(MAPO(capacity=2), task, y)
    assert step(lesson, [[1, 0, 0]])["memory_weight"].item() == 0
    step(lesson, [[0, 0, 0]])
    assert contents(lesson, 0) == [[0, 0, 0]]
    assert step(lesson, [[0, 0, 0]])["reward"].item() == 1
    assert contents(lesson, 0) == [[0, 0, 0]]


def test_a_full_memory_keeps_the_most_probable() -> None:
    task = addition()
    y = task.constraint.encode([3])
    lesson = Lesson(MAPO(capacity=2), task, y)
    likes_ones = torch.tensor([0.0, 3.0, 1.0, 0.5]).expand(1, 3, 4)
    for z in ([0, 0, 3], [0, 1, 2]):
        step(lesson, [z], likes_ones)
    step(lesson, [[3, 0, 0]], likes_ones)  # no more probable than (0, 0, 3)
    assert contents(lesson, 0) == [[0, 0, 3], [0, 1, 2]]
    step(lesson, [[1, 1, 1]], likes_ones)
    assert contents(lesson, 0) == [[1, 1, 1], [0, 1, 2]]
    assert lesson.memory["held"].tolist() == [2]


def test_certainty_about_the_memory_leaves_nothing_to_sample() -> None:
    """π_B = 1 in floating point: no 0/0, and no gradient but the memory's."""
    task = addition()
    y = task.constraint.encode([3])
    lesson = Lesson(MAPO(), task, y)
    output = torch.zeros(1, 3, 4)
    output[..., 1] = 200.0
    for _ in range(3):
        outcome = lesson.loss(task.space.belief(output))
        assert bool(torch.isfinite(outcome.loss))
    assert outcome.figures["memory_weight"].item() == 1.0


def test_reals_remember_with_the_least_share() -> None:
    """A finite set has probability 0 under a density, whatever the densities add up to."""
    problem = REALS[0]
    rule = problem.rule
    lesson = Lesson(MAPO(capacity=5), Task(rule.space, rule), problem.answer(3))
    leaf = torch.tensor([problem.centre], dtype=torch.float64).repeat(3, 1).requires_grad_()
    dice = Sampler(0)
    for _ in range(20):
        outcome = lesson.loss(rule.space.belief(leaf), dice=dice)
    assert outcome.figures["memory_weight"].tolist() == [0.5] * 3
    assert lesson.memory["held"].tolist() == [5] * 3
    assert (lesson.memory["memory"].dtype, lesson.memory["held"].dtype) == (torch.float64, torch.long)
    assert bool(rule.feasible(lesson.memory["memory"].flatten(0, 1), problem.answer(15)).all())
    (gradient,) = torch.autograd.grad(outcome.loss, leaf)
    assert bool(torch.isfinite(gradient).all())
    assert bool((gradient != 0).all())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weight": -0.1}, "least share"),
        ({"weight": 1.5}, "least share"),
        ({"weight": math.nan}, "least share"),
        ({"capacity": 0}, "room for one sample"),
        ({"decay": 1.0}, "below 1"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(LearnerError, match=message):
        MAPO(**settings)  # type: ignore[arg-type]


def test_the_memory_may_have_all_the_weight() -> None:
    assert MAPO(weight=1.0).weight == 1.0


def test_a_checkpoint_of_another_capacity_is_refused(tmp_path: Path) -> None:
    task = addition()

    def fit(capacity: int, epochs: int, resume: bool = False) -> None:
        stages = [Stage("I", MAPO(capacity=capacity), epochs, adam)]
        make_learner(task, stages).fit(examples(task, 20), out=tmp_path / "run", resume=resume)

    fit(2, 1)
    with pytest.raises(CheckpointError):
        fit(4, 2, resume=True)


def test_remembered_reals_weigh_by_how_their_density_has_changed() -> None:
    """Ratios to the density at the time of the draw, at most LARGEST_RATIO, over the number remembered."""
    filled = torch.tensor([[True, True, False], [True, False, False], [False, False, False]])
    ratio = torch.tensor([[0.5, 2.0, 1.0], [1e9, 1.0, 1.0], [1.0, 1.0, 1.0]], dtype=torch.float64)
    drawn = torch.tensor([-3.0, 1.0, 0.5], dtype=torch.float64)[:, None].expand(3, 3)
    scores = (drawn + ratio.log()).masked_fill(~filled, -torch.inf)
    inside = MAPO(capacity=3)._inside(scores, filled, drawn, categorical=False)
    expected = [[0.25, 1.0, 0.0], [LARGEST_RATIO, 0.0, 0.0], [0.0, 0.0, 0.0]]
    assert torch.allclose(inside, torch.tensor(expected, dtype=torch.float64))
