"""The answer that symbols have, for rules that compute one instead of only checking it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import singledispatch
from typing import Any

from torch import Tensor

from ..errors import ConstraintError
from .program import NO_ANSWER, Program
from .scan import Scan


@singledispatch
def computed_answers(rule: Any, z: Tensor) -> list[Any]:
    """The answer of each state ``z[rows, sites]``; None where it has none.

    A program has one by definition. A scan has one where the answer is its final state. Any other rule can only say
    whether an answer that it is given fits, and is refused.

    >>> from softground.spaces import Categorical
    >>> space = Categorical([range(10), range(1, 10)])
    >>> computed_answers(Program(lambda a, b: a // b if a % b == 0 else None, space), space.encode([(8, 2), (8, 3)]))
    [4, None]
    """
    raise ConstraintError(
        f"A {type(rule).__name__} checks answers and does not compute them. Give it an answer to check, or state the "
        "rule as a Program."
    )


@computed_answers.register
def _(rule: Program, z: Tensor) -> list[Any]:
    ids = rule.answer_ids(z)
    return [None if int(i) == NO_ANSWER else _alone(rule.answer(i), rule.vectorised) for i in ids]


def _alone(answer: Any, vectorised: bool) -> Any:
    """A vectorised program knows an answer that nobody gave it as a row of whole numbers; one of one is that number."""
    return answer[0] if vectorised and isinstance(answer, tuple) and len(answer) == 1 else answer


@computed_answers.register
def _(rule: Scan, z: Tensor) -> list[Any]:
    if not rule.computes:
        raise ConstraintError(
            "This scan checks answers and does not compute them: it has a cue or an accept of its own. Give it an "
            "answer to check, or state the rule as a Program."
        )
    tables = rule.tables(z.device)
    final = tables.recursion.final_state(tables.cues.new_zeros(z.shape), z[:, tables.order])
    states = [*rule.tabulation.states[-1], None]  # the last is dead: a symbol was refused
    return [states[int(number)] for number in final]


def like_given(answer: Any, given: Sequence[Any]) -> Any:
    """A vectorised program's pair (numerator, denominator) as a fraction, where the answers ``given`` to it are such.

    >>> like_given((7, 2), [Fraction(1, 3)]), like_given((7, 2), [(1, 3)]), like_given(7, [Fraction(1, 3)])
    (Fraction(7, 2), (7, 2), 7)
    """
    rational = isinstance(answer, tuple) and any(isinstance(a, Fraction) for a in given)
    return Fraction(*answer) if rational else answer
