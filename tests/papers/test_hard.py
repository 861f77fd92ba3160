"""The hard groundings, problems (1) and (2) of the paper."""

from __future__ import annotations

import pytest
import torch

from baseline_cases import logits
from learner_cases import adam, addition, make_learner
from lessons import Lesson
from papers.li2023.baselines import BestMapping, FeasibleMapping
from problems import PROBLEMS, Problem
from reals import PROBLEMS as REALS
from softground import Examples, Stage, Task
from softground.errors import InfeasibleAnswer, LearnerError
from softground.inverses import Enumeration
from softground.tasks.sdsp import Intervals


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_the_best_mapping_is_that_of_brute_force(problem: Problem) -> None:
    """The value and the gradient are those of min over h of −log P(h(x)|x), over all of S_y."""
    y = problem.program.encode([problem.answer])
    lesson = Lesson(BestMapping(), Task(problem.space, problem.program, problem.table), y)
    for seed in range(3):
        output = logits(problem, seed).requires_grad_()
        ours = lesson.loss(problem.space.belief(output)).loss
        states = problem.states
        theirs = -problem.space.belief(output.expand(len(states), -1, -1)).log_prob(states).max() / problem.space.sites
        assert torch.allclose(ours, theirs, atol=1e-12)
        gradients = [torch.autograd.grad(loss, output)[0] for loss in (ours, theirs)]
        assert torch.allclose(*gradients, atol=1e-12)


def test_a_feasible_mapping_is_drawn_once() -> None:
    """Uniformly from S_y, whatever the network says, and the network is fitted to it from then on."""
    task, count = addition(), 3000
    y = task.constraint.encode([4] * count)
    lesson = Lesson(FeasibleMapping(), task, y)
    mapping = lesson.memory["chains"].clone()
    feasible = task.space.states(torch.arange(64))
    feasible = feasible[feasible.sum(1) == 4]
    often = (mapping[:, None] == feasible).all(2).sum(0)
    assert int(often.sum()) == count
    # χ² with 11 degrees of freedom stays below 41 but for 2e-5 of all seeds.
    assert len(feasible) == 12
    assert float((often - count / 12).square().sum() / (count / 12)) < 41
    for epoch in range(2):
        output = torch.randn(count, 3, 4, generator=torch.Generator().manual_seed(epoch), dtype=torch.float64)
        belief = task.space.belief(output)
        assert torch.allclose(lesson.loss(belief).loss, -belief.log_prob(mapping).mean() / 3)
        assert torch.equal(lesson.memory["chains"], mapping)
    assert not torch.equal(Lesson(FeasibleMapping(), task, y, seed=1).memory["chains"], mapping)


def test_examples_that_wait_for_a_first_state_are_left_out() -> None:
    task = addition()
    lesson = Lesson(FeasibleMapping(), task, task.constraint.encode([4] * 3))
    lesson.memory["waiting"] = torch.tensor([0, 1, 0])
    belief, rest = task.space.belief(torch.arange(36.0).sin().view(3, 3, 4)), torch.tensor([0, 2])
    expected = -belief.rows(rest).log_prob(lesson.memory["chains"][rest]).mean() / 3
    assert torch.allclose(lesson.loss(belief).loss, expected)


def test_an_inverse_that_does_not_know_the_best_is_refused() -> None:
    task = addition()
    searched = Task(task.space, task.constraint, Enumeration(task.space, task.constraint))
    lesson = Lesson(BestMapping(), searched, task.constraint.encode([4]))
    with pytest.raises(LearnerError, match="does not know"):
        lesson.loss(task.space.belief(torch.zeros(1, 3, 4)))


def test_an_answer_that_nothing_explains_is_named() -> None:
    data = Examples(torch.zeros(2, 3, 4), [4, 99])
    for objective in (BestMapping(), FeasibleMapping()):
        stages = [Stage("I", objective, 1, adam)]
        with pytest.raises(InfeasibleAnswer, match=r"1 \(answer 99\)"):
            make_learner(addition(), stages).fit(data)
        learner = make_learner(addition(), stages, unexplained="drop").fit(data)
        assert learner.history_[0]["unexplained"] == 1


def test_of_reals_the_best_is_the_nearest_point() -> None:
    problem, rule = REALS[2], REALS[2].rule
    task, y = Task(rule.space, rule, Intervals(rule)), rule.encode(problem.answer(4))
    inside = problem.exact_draws(4, 1.0, 0)
    outside = inside + 5 * torch.randn(inside.shape, generator=torch.Generator().manual_seed(0), dtype=inside.dtype)
    lesson = Lesson(BestMapping(), task, y)
    best, worse = (float(lesson.loss(task.space.belief(mean)).loss) for mean in (inside, outside))
    assert best == pytest.approx(-float(task.space.belief(inside).log_prob(inside).mean()) / task.space.sites)
    assert best < worse < -float(task.space.belief(outside).log_prob(inside).mean()) / task.space.sites
