"""The law itself: the closed form of eq. 5, its limits, and Proposition 2 (γ = 1 is the semantic loss)."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from lessons import Lesson
from problems import PROBLEMS, Problem
from softground.dice import Dice, Sampler
from softground.errors import InfeasibleAnswer
from softground.inverses import solutions
from softground.kernels import Exact, Info, Kernel
from softground.kernels.base import redrawn
from softground.schedules import Constant
from softground.target import Target
from softground.task import Task
from softground.tasks.formulas import formula_program, formula_task
from softground.training import SoftenedGrounding
from softground.training.step import Batch, Teacher


def marginals(problem: Problem, gamma: float) -> Tensor:
    _, info = Exact(problem.table).step(Sampler(0), problem.states[:1], problem.target(1, gamma))
    assert info.marginals is not None
    return info.marginals[0]


def entropy_regularised_loss(law: Tensor, log_p: Tensor, gamma: float) -> Tensor:
    """Problem (P) for one example: −Σ Q log P + γ Σ Q log Q."""
    return -(law * log_p).sum(-1) + gamma * torch.special.xlogy(law, law).sum(-1)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize("gamma", [2.0, 1.0, 0.3])
def test_the_closed_form_minimises_problem_p(problem: Problem, gamma: float) -> None:
    states = problem.states
    log_p = problem.belief(len(states)).log_prob(states)
    best = entropy_regularised_loss(problem.law(gamma), log_p, gamma)
    noise = torch.randn(5000, len(states), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    near = (problem.law(gamma).log() + 0.05 * noise).softmax(-1)
    far = (3 * noise).softmax(-1)
    assert bool((entropy_regularised_loss(near, log_p, gamma) > best - 1e-12).all())
    assert bool((entropy_regularised_loss(far, log_p, gamma) > best).all())
    # The minimum's value is −γ log Σ P^{1/γ}: another way to the same number.
    assert torch.allclose(best, -gamma * (log_p / gamma).logsumexp(0), atol=1e-12)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_hot_is_uniform_and_cold_is_one_hot(problem: Problem) -> None:
    states, width = problem.states, problem.space.width
    counts = torch.nn.functional.one_hot(states, width).double().mean(0)
    assert torch.allclose(marginals(problem, math.inf), counts, atol=1e-12)
    assert torch.allclose(marginals(problem, 1e9), counts, atol=1e-6)
    best = states[problem.belief(len(states)).log_prob(states).argmax()]
    cold = torch.nn.functional.one_hot(best, width).double()
    assert torch.allclose(marginals(problem, 1e-4), cold, atol=1e-9)


def test_gradient_at_gamma_one_is_the_semantic_losss() -> None:
    """Proposition 2: with Q* detached, ∇(−Σ Q* log P) = ∇(−log Σ_{z ∈ S_y} P(z|x)), on real length-7 formulas."""
    task = formula_task(7)
    program = formula_program(7)
    generator = torch.Generator().manual_seed(3)
    z = (torch.rand(4, 7, generator=generator) * torch.tensor(program.space.sizes)).long()
    y = task.constraint.encode([program.answer(i) for i in program.answer_ids(z)])
    output = torch.randn(4, 7, 13, generator=generator, dtype=torch.float64, requires_grad=True)

    lesson = Lesson(SoftenedGrounding(Exact(task.inverse), Constant(1.0)), task, y)
    (ours,) = torch.autograd.grad(lesson.loss(task.space.belief(output)).loss, output)

    log_p = task.space.belief(output).scores
    semantic = torch.zeros((), dtype=torch.float64)
    for row in range(4):
        everything = task.space.states(solutions(task.inverse, y[row : row + 1]).index)  # type: ignore[attr-defined]
        assert bool(program.feasible(everything, program.answer_ids(z)[row].expand(len(everything))).all())
        total = sum(log_p[row, i, everything[:, i]] for i in range(7))
        semantic = semantic - torch.logsumexp(total, 0)  # type: ignore[arg-type]
    (theirs,) = torch.autograd.grad(semantic / 4 / 7, output)
    assert float((ours - theirs).abs().max()) < 1e-6
    assert float(theirs.abs().max()) > 1e-3


class Walks(Kernel):
    """A kernel that goes to a state it was told, and reports no marginals."""

    def __init__(self, goal: Tensor) -> None:
        self.goal = goal

    def step(self, dice: Dice, z: Tensor, target: Target[Any]) -> tuple[Tensor, Info]:
        return self.goal[: len(z)], redrawn(z, self.goal[: len(z)], None)


@pytest.mark.parametrize("steps", [1, 3])
def test_the_loss_is_at_the_state_after_the_walk(steps: int) -> None:
    problem = PROBLEMS[0]
    goal = problem.states[[3, 1, 4, 1]]
    y = problem.program.encode([problem.answer]).expand(4)
    task = Task(problem.space, problem.program, problem.table)
    lesson = Lesson(SoftenedGrounding(Walks(goal), Constant(1.0), steps), task, y)
    lesson.memory["chains"][:] = problem.states[0]
    belief = problem.belief(4)
    outcome = lesson.loss(belief)
    assert torch.allclose(outcome.loss, -belief.log_prob(goal).mean() / problem.space.sites, atol=1e-12)
    assert torch.equal(lesson.memory["chains"], goal)


def test_an_answer_without_solutions_is_named_by_its_place_in_the_data() -> None:
    """The kernel knows rows of its batch only."""
    task = formula_task(1)
    y = task.constraint.encode([3, 4, 77, 5])
    lesson = Lesson(SoftenedGrounding(Exact(task.inverse), Constant(1.0)), task, y[[0, 1, 3, 3]])
    order = torch.tensor([3, 2, 0])
    with pytest.raises(InfeasibleAnswer, match=r"2 \(answer 77\)") as caught:
        lesson.loss(task.space.belief(torch.zeros(3, 1, 9)), order, answers=y[order].as_subclass(torch.Tensor))
    assert caught.value.examples == (2,)


def test_what_waits_is_not_taught_and_a_failure_names_the_example_though_others_wait() -> None:
    """Rows that the kernel knows are rows of those that do not wait."""
    task = formula_task(1)
    y = task.constraint.encode([3, 4, 77, 5])
    lesson = Lesson(SoftenedGrounding(Exact(task.inverse), Constant(1.0)), task, y[[0, 1, 3, 3]])
    lesson.memory["waiting"] = torch.tensor([0, 2, 0, 0])
    order, belief = torch.tensor([3, 1, 2, 0]), task.space.belief(torch.arange(36.0).sin().view(4, 1, 9))
    with pytest.raises(InfeasibleAnswer, match=r"2 \(answer 77\)"):
        lesson.loss(belief, order, answers=y[order].as_subclass(torch.Tensor))
    found = lesson.loss(belief, order)
    states = task.space.encode([(5,), (5,), (3,)])
    assert torch.allclose(found.loss, -belief.rows(torch.tensor([0, 2, 3])).log_prob(states).mean())
    assert found.batch.weight[:, 0].tolist() == [1, 0, 1, 1]


def test_a_teacher_of_ones_own_asks_for_the_law_of_the_batch() -> None:
    """``batch.y`` is marked as the rule's codes, although training works with plain numbers."""

    class Own(Teacher):
        def teach(self, batch: Batch) -> torch.Tensor:
            return batch.task.inverse.law(Target.at(batch.evidence, batch.y, 0.5)).marginals()

    task = formula_task(1)
    y, belief = task.constraint.encode([3, 4]), task.space.belief(torch.arange(18.0).sin().view(2, 1, 9))
    ours = Lesson(SoftenedGrounding(Exact(task.inverse), Constant(0.5)), task, y)
    assert torch.equal(Lesson(Own(), task, y).loss(belief).loss, ours.loss(belief).loss)
