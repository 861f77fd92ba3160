"""What an answer means does not depend on which one was encoded first."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
import torch
from torch import Tensor

import softground as sg
from softground.errors import ConstraintError
from softground.target import Target

SPACE = sg.Categorical([range(1, 5)] * 2)
STATES = SPACE.states(torch.arange(16))


def ratio(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    common = torch.gcd(a, b)
    return a // common, b // common


def pair(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    return a + b, a * b


def check(function: Any, plain: Any, answers: tuple[Any, ...]) -> None:
    """Every answer's S_y, however the answers are ordered, is that of the same rule as a plain function."""
    wanted = sg.Program(plain, SPACE)
    for order in permutations(answers):
        for inverse in (None, "table"):
            rule = sg.Program(function, SPACE, vectorised=True)
            task = sg.Task(SPACE, rule) if inverse else None
            for answer in order:
                y, same = rule.encode([answer]), wanted.encode([answer])
                right = wanted.feasible(STATES, same.expand(16))
                assert torch.equal(rule.feasible(STATES, y.expand(16)), right), (order, answer)
                if task is not None:
                    target = Target(SPACE.belief(torch.zeros(1, 2, 4)), y, 1.0)
                    mass = task.inverse.law(target).log_mass(quiet=True).exp()
                    assert mass.item() == pytest.approx(right.double().mean().item(), abs=1e-6)


def test_rationals_in_all_orders() -> None:
    check(ratio, Fraction, (sg.Between(1, 2), Fraction(3, 4), 2, sg.Not(sg.Between(Fraction(1, 2)))))


def test_tuples_in_all_orders() -> None:
    check(pair, lambda a, b: (a + b, a * b), (sg.Contains(4), (5, 6), sg.Not((4, 4)), sg.OneOf((2, 1), sg.Contains(3))))


@pytest.mark.parametrize("answers", [[sg.Between(1, 2), (3, 4)], [Fraction(3, 4), sg.Contains(3)], [2, (3, 4)]])
def test_a_number_and_a_tuple_are_not_answers_of_one_rule(answers: list[Any]) -> None:
    for order in (answers, answers[::-1]):
        with pytest.raises(ConstraintError, match=r"Give all in one form"):
            sg.Program(ratio, SPACE, vectorised=True).encode(order)


def test_three_numbers_are_not_between_two() -> None:
    with pytest.raises(ConstraintError, match="returns 3 per state"):
        sg.Program(lambda a, b: (a, b, a + b), SPACE, vectorised=True).encode([sg.Between(1, 2)])


def test_a_rational_without_a_denominator_is_named() -> None:
    rule = sg.Program(lambda a, b: (a, b - b), SPACE, vectorised=True)
    with pytest.raises(ConstraintError, match="positive denominator"):
        rule.feasible(STATES, rule.encode([sg.Between(1, 2)]).expand(16))


def test_unknown_answers_among_others_may_be_of_any_kind() -> None:
    rule = sg.Program(lambda a, b: (a, b), SPACE)
    rule.encode([sg.OneOf(None, sg.OneOf((1, 1), (1, 2)))])
    with pytest.raises(ConstraintError, match="is a number, where the rule gives a tuple"):
        rule.encode([sg.OneOf(1, sg.OneOf(2, 3))])
