"""Constrained prediction is the most probable feasible z: against brute force, with and without a table."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from softground import Categorical, Examples, Learner, Program, Scan, Task
from softground.errors import ConstraintError, DataError, InfeasibleAnswer, LearnerError
from softground.inverses import Enumeration


class Believes(nn.Module):
    """A network whose inputs are its outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


def quotient(a: int, op: str, b: int) -> Fraction | None:
    """Undefined for a division by zero (an exception) and for a negative value (None)."""
    value = Fraction(a, b) if op == "/" else Fraction(a - b)
    return value if value >= 0 else None


def quotient_task(tabulated: bool) -> Task:
    space = Categorical([range(4), "/-", range(3)])
    program = Program(quotient, space)
    return Task(space, program) if tabulated else Task(space, program, Enumeration(space, program))


def vectorised(a: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(a + b, a − c), defined where c is not 0."""
    return a + b, a - c, c != 0


def vectorised_task(tabulated: bool) -> Task:
    space = Categorical([range(3), range(5), range(2)], head="site")
    program = Program(vectorised, space, vectorised=True, partial=True)
    return Task(space, program) if tabulated else Task(space, program, Enumeration(space, program))


TASKS = {"plain": quotient_task, "vectorised": vectorised_task}
BOTH = pytest.mark.parametrize("tabulated", [True, False], ids=["table", "best first"])
ALL = pytest.mark.parametrize("name", list(TASKS))


def inputs(task: Task, count: int, seed: int = 0) -> Tensor:
    chance = torch.Generator().manual_seed(seed)
    return 2 * torch.randn(count, task.space.sites, task.space.outputs, generator=chance, dtype=torch.float64)


def learner(task: Task) -> Learner:
    return Learner(task, Believes().double(), device="cpu")


def everything(task: Task) -> tuple[Tensor, list[Any]]:
    """All states, and each one's answer by calling the rule itself (None where there is none)."""
    states = task.space.states(torch.arange(task.space.size))
    if task.constraint.vectorised:  # type: ignore[attr-defined]
        *columns, defined = vectorised(*states.unbind(1))
        rows = torch.stack(columns, 1).tolist()
        return states, [tuple(row) if good else None for row, good in zip(rows, defined.tolist(), strict=True)]
    answers: list[Any] = []
    for symbols in task.space.decode(states):
        try:
            answers.append(quotient(*symbols))
        except ZeroDivisionError:
            answers.append(None)
    return states, answers


def best(task: Task, x: Tensor, keep: list[bool]) -> Tensor:
    """The most probable of the kept states, by listing them."""
    states = task.space.states(torch.arange(task.space.size))[torch.tensor(keep)]
    scores = task.space.belief(x[None].expand(len(states), -1, -1)).log_prob(states)
    return states[scores.argmax()]


@ALL
def test_without_constraint_it_is_the_networks_own_prediction(name: str) -> None:
    task = TASKS[name](True)
    x = inputs(task, 50)
    assert torch.equal(learner(task).predict_codes(x), task.space.belief(x).mode())
    assert learner(task).predict(x) == task.space.decode(task.space.belief(x).mode())


@ALL
@BOTH
def test_given_y_it_is_the_most_probable_state_with_that_answer(name: str, tabulated: bool) -> None:
    task = TASKS[name](tabulated)
    _, answers = everything(task)
    known = sorted({a for a in answers if a is not None})
    x = inputs(task, 4 * len(known))
    y = known * 4
    found = learner(task).predict_codes(x, y)
    for row, answer in enumerate(y):
        assert torch.equal(found[row], best(task, x[row], [a == answer for a in answers]))


@ALL
@BOTH
def test_by_the_rule_alone_it_is_the_most_probable_state_with_an_answer(name: str, tabulated: bool) -> None:
    task = TASKS[name](tabulated)
    _, answers = everything(task)
    assert None in answers
    x = inputs(task, 200, seed=1)
    found = learner(task).predict_codes(x, constrained=True)
    corrected = (found != task.space.belief(x).mode()).any(1)
    assert 0 < corrected.sum() < 200
    for row in range(200):
        assert torch.equal(found[row], best(task, x[row], [a is not None for a in answers]))


def test_a_prediction_is_in_the_users_own_symbols() -> None:
    task = quotient_task(True)
    x = torch.zeros(1, 3, task.space.outputs, dtype=torch.float64)
    assert learner(task).predict(x, [Fraction(3, 2)]) == [(3, "/", 2)]


@BOTH
def test_with_and_without_a_table_the_predictions_are_as_probable_on_a_larger_space(tabulated: bool) -> None:
    """6 sites, sharp and flat beliefs; ties in float32 may be broken differently, so probabilities are compared."""
    space = Categorical([range(6)] * 6)
    program = Program(lambda *z: sum(z), space, vectorised=True)
    task = Task(space, program) if tabulated else Task(space, program, Enumeration(space, program))
    x, y = inputs(task, 12, seed=2), [0, 1, 29, 30, 15, 7] * 2
    belief = space.belief(x)
    found = learner(task).predict_codes(x, y)
    assert program.feasible(found, program.encode(y)).all()
    states = space.states(torch.arange(space.size))
    scores = sum(belief.scores[:, i, states[:, i]] for i in range(6))
    target = program.encode(y)
    for row in range(12):
        feasible = program.feasible(states, target[row].expand(len(states)))
        assert belief.log_prob(found)[row].item() == pytest.approx(scores[row][feasible].max().item(), abs=1e-9)


@BOTH
def test_an_infeasible_answer_is_named_by_its_place_among_all_inputs(tabulated: bool) -> None:
    task = quotient_task(tabulated)
    x, y = inputs(task, 300), [Fraction(1)] * 300
    y[290] = Fraction(7)  # in the second batch of 256
    with pytest.raises(InfeasibleAnswer, match=r"infeasible: 290 \(answer Fraction\(7, 1\)\).*S_y is empty") as caught:
        learner(task).predict(x, y)
    assert caught.value.examples == (290,)


def test_an_error_leaves_gradients_and_the_networks_mode_as_they_were() -> None:
    task = quotient_task(True)
    judge = learner(task)
    judge.network.train()
    with pytest.raises(InfeasibleAnswer) as caught:
        judge.predict(inputs(task, 1), [Fraction(7)])
    assert caught.value  # still alive, with its traceback
    assert torch.is_grad_enabled()
    assert judge.network.training


def test_a_budget_that_is_spent_is_an_error_that_says_so() -> None:
    task = quotient_task(False)
    x = torch.zeros(260, 3, task.space.outputs, dtype=torch.float64)
    x[:, 1, task.space.symbols.index("-")] = 9.0  # a − b for all
    y = [Fraction(0)] * 259 + [Fraction(3, 2)]
    with pytest.raises(LearnerError, match=r"Example 259: none of its 5 most probable states.*Raise the budget of 5"):
        learner(task).predict(x, y, budget=5)
    assert learner(task).predict(x, y)[-1] == (3, "/", 2)


def test_a_rule_without_any_answer_is_an_error() -> None:
    space = Categorical([range(2), range(2)])
    program = Program(lambda a, b: None, space)
    task = Task(space, program, Enumeration(space, program))
    with pytest.raises(LearnerError, match="no answer for any state"):
        learner(task).predict(inputs(task, 1), constrained=True)


def test_inputs_and_answers_must_be_as_many() -> None:
    task = quotient_task(True)
    with pytest.raises(LearnerError, match="2 inputs but 1 answers"):
        learner(task).predict(inputs(task, 2), [Fraction(1)])
    with pytest.raises(DataError, match="empty"):
        learner(task).predict(inputs(task, 0))
    with pytest.raises(ConstraintError, match=r"Example 1.*float"):
        learner(task).predict(inputs(task, 2), [1, 0.5])


def test_inputs_may_be_a_list_or_the_examples_themselves() -> None:
    task = quotient_task(True)
    x = inputs(task, 10)
    whole = learner(task).predict(x)
    assert learner(task).predict(list(x)) == whole
    assert learner(task).predict(x.numpy()) == whole
    assert learner(task).predict(Examples(x, [1] * 10)) == whole
    with pytest.raises(LearnerError, match="int was given"):
        learner(task).predict(3)


@pytest.mark.parametrize("rule", [Program, Scan])
@pytest.mark.parametrize("second", [None, 0, 9])
def test_known_symbols_that_contradict_an_answer_are_named(rule: Any, second: int | None) -> None:
    """However the law is computed."""
    space = Categorical([range(10)] * 2)
    task = Task(space, rule(lambda a, b: a + b, space))
    x = torch.zeros(2, 2, 10).double()
    with pytest.raises(ConstraintError, match="The known symbols contradict the answer"):
        learner(task).predict(x, [5, 3], known=[[None, None], [7, second]])
