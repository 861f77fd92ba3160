"""The semantic loss: its gradient by brute force, and Proposition 2."""

from __future__ import annotations

import pytest
import torch

from baseline_cases import formulas, logits
from learner_cases import addition
from lessons import Lesson
from problems import PROBLEMS, Problem
from reals import PROBLEMS as REALS
from softground import SMT, Task
from softground.errors import LearnerError
from softground.inverses import Z3, Enumeration
from softground.kernels import Exact
from softground.schedules import Constant
from softground.tasks.formulas import formula_program, formula_task
from softground.tasks.formulas.rule import formula_rule
from softground.tasks.sudoku import sudoku_task
from softground.training import SemanticLoss, SoftenedGrounding, Teacher
from sudoku_cases import BOARDS


def gradient(teacher: Teacher, task: Task, y: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    leaf = output.clone().requires_grad_()
    (found,) = torch.autograd.grad(Lesson(teacher, task, y).loss(task.space.belief(leaf)).loss, leaf)
    return found


def by_brute_force(task: Task, states: list[torch.Tensor], output: torch.Tensor) -> torch.Tensor:
    """The gradient of the mean of −(1/n) log P(S_y|x), S_y being the ``states`` of a row."""
    leaf = output.clone().requires_grad_()
    belief = task.space.belief(leaf)
    rows = [torch.full((len(own),), row) for row, own in enumerate(states)]
    masses = [belief.rows(row).log_prob(own).logsumexp(0) for row, own in zip(rows, states, strict=True)]
    (found,) = torch.autograd.grad(-torch.stack(masses).mean() / task.space.sites, leaf)
    return found


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize("inverse", ["table", "enumeration"])
def test_the_gradient_is_that_of_brute_force(problem: Problem, inverse: str) -> None:
    y = problem.program.encode([problem.answer])
    task = Task(problem.space, problem.program, getattr(problem, inverse))
    output = logits(problem).repeat(2, 1, 1)
    found = gradient(SemanticLoss(), task, y.expand(2), output)
    assert torch.allclose(found, by_brute_force(task, [problem.states] * 2, output), atol=1e-12)


def test_rows_of_different_lengths_do_not_mix() -> None:
    task = addition()
    y = task.constraint.encode([0, 5, 9, 4])
    output = torch.randn(4, 3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    everything = task.space.states(torch.arange(64))
    states = [everything[everything.sum(1) == total] for total in (0, 5, 9, 4)]
    assert torch.allclose(gradient(SemanticLoss(), task, y, output), by_brute_force(task, states, output), atol=1e-12)


@pytest.mark.parametrize("length", [3, 7])
def test_its_gradient_is_the_softened_groundings_at_gamma_one(length: int) -> None:
    """Proposition 2, the semantic loss names the softened grounding."""
    task = formula_task(length)
    data = formulas(task, 6)
    y = task.constraint.encode(data.y)
    output = data.x.double() * 3
    ours = gradient(SemanticLoss(), task, y, output)
    theirs = gradient(SoftenedGrounding(Exact(task.inverse), Constant(1.0)), task, y, output)  # type: ignore[arg-type]
    assert float((ours - theirs).abs().max()) < 1e-6
    assert float(theirs.abs().max()) > 1e-3


def test_sudoku_adds_up_all_boards() -> None:
    task, output = sudoku_task(4), torch.randn(1, 16, 4, generator=torch.Generator().manual_seed(0)).double()
    found = gradient(SemanticLoss(), task, task.constraint.encode([True]), output)
    assert torch.allclose(found, by_brute_force(task, [BOARDS], output), atol=1e-12)


def test_a_hopeless_belief_has_a_finite_loss() -> None:
    """P(S_y) underflows; its logarithm does not."""
    task = addition()
    y = task.constraint.encode([0])
    output = torch.zeros(1, 3, 4)
    output[..., 3] = 500.0
    found = gradient(SemanticLoss(), task, y, output)
    assert bool(torch.isfinite(found).all())
    assert float(found[0, 0, 0]) < -0.1


def test_a_rule_without_a_list_of_solutions_is_refused() -> None:
    rule = REALS[0].rule
    with pytest.raises(LearnerError, match="has no law"):
        SemanticLoss().begin(Task(rule.space, rule))


def test_z3_lists_solutions_too() -> None:
    program = formula_program(3)
    y = program.encode([6])
    output = torch.randn(1, 3, 13, generator=torch.Generator().manual_seed(2))
    values = []
    for inverse in (Z3(SMT(formula_rule, program.space, answers=program)), Enumeration(program.space, program)):
        lesson = Lesson(SemanticLoss(), Task(program.space, program, inverse), y)
        values.append(float(lesson.loss(program.space.belief(output)).loss))
    assert values[0] == values[1]
