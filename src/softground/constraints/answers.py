"""Exact answers: what a user may give as y, and the whole numbers that stand for it.

Feasibility is decided by equality of exact values, never by a float tolerance. Ints, bools,
:class:`fractions.Fraction`, strings and tuples of these are exact; floats are not.
"""

import operator
import threading
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor

from ..errors import ConstraintError

INTERNING = threading.RLock()
"""Held while a rule learns of new answers, whose numbers depend on their order. One for all: locks cannot be copied."""


def exact(answer: Any) -> Hashable:
    """The answer in one canonical, hashable, exact form (a zero-dimensional array counts as its number).

    >>> exact(Fraction(4, 2)), exact([1, True]), exact("3h")
    (2, (1, 1), '3h')
    """
    if hasattr(answer, "tolist"):  # numpy and torch scalars and arrays
        answer = answer.tolist()
    if isinstance(answer, str):
        return answer
    if isinstance(answer, list | tuple):
        return tuple(exact(a) for a in answer)
    if isinstance(answer, Fraction):
        return answer.numerator if answer.denominator == 1 else answer
    if isinstance(answer, float):
        raise ConstraintError(
            f"The answer {answer!r} is a float, which is not exact. Give an int or a fractions.Fraction "
            "(for example Fraction(7, 2) for 3.5)."
        )
    try:
        return operator.index(answer)
    except TypeError:
        raise ConstraintError(
            f"The answer {answer!r} is a {type(answer).__name__}; expected an int, a fractions.Fraction, a string, "
            "or a tuple of these."
        ) from None


class Interned:
    """Exact answers by number, in the order in which they were first seen; equal answers have equal numbers."""

    def __init__(self) -> None:
        self.ids: dict[Hashable, int] = {}
        self.keys: list[Any] = []
        self.given: dict[int, Any] = {}  # those that the user gave, as they were written

    def number(self, key: Hashable) -> int:
        """The number of an exact answer."""
        if key not in self.ids:
            with INTERNING:
                if key not in self.ids:
                    self.keys.append(key)
                    self.ids[key] = len(self.keys) - 1
        return self.ids[key]

    def encode(self, answers: Sequence[Any], key: Callable[[Any], Hashable] = exact) -> Tensor:
        """The user's answers as numbers, ``[len(answers)]``; an error of ``key`` is raised with the position."""
        ids = []
        for position, answer in enumerate(answers):
            try:
                ids.append(self.number(key(answer)))
            except ConstraintError as error:
                raise ConstraintError(f"Example {position}: {error}") from error
            self.given.setdefault(ids[-1], answer)
        return torch.tensor(ids, dtype=torch.long)


def remember_in(cache: dict[Any, Any], key: Hashable, value: Any, limit: int) -> None:
    """Keep a value, and at most ``limit`` of them: the oldest goes first."""
    with INTERNING:
        while len(cache) >= limit:
            del cache[next(iter(cache))]
        cache[key] = value


def integers(answer: Hashable, width: int) -> tuple[int, ...]:
    """An exact answer as ``width`` whole numbers, the row a vectorised rule must return for it.

    An int is itself, a rational its numerator and positive denominator in lowest terms, a tuple its entries one after
    the other. An int is also accepted where the rule returns a pair: it is n/1.

    >>> integers(Fraction(7, 2), 2), integers(3, 2), integers((1, 2, 3), 3)
    ((7, 2), (3, 1), (1, 2, 3))
    """
    row = (answer, 1) if isinstance(answer, int) and width == 2 else _flatten(answer)
    if len(row) != width:
        raise ConstraintError(
            f"The answer {answer!r} is {len(row)} whole number(s), but the vectorised rule returns {width} per state. "
            "Return one tensor for ints, (numerator, denominator) for rationals, one tensor per entry for tuples."
        )
    if any(not -(2**63) <= number < 2**63 for number in row):
        shown = text if len(text := str(answer)) <= 60 else f"{text[:60]}…"
        raise ConstraintError(
            f"The answer {shown} does not fit into 64 bits, which a vectorised rule needs. Give the rule as a plain "
            "Python function."
        )
    return row


def shaped(row: Sequence[int], like: Any) -> Any:
    """A vectorised rule's row of whole numbers in the form of an answer that was given; undoes :func:`integers`.

    >>> shaped((7, 2), Fraction(1, 3)), shaped((7, 2), (1, 3)), shaped((7, 2, 5), (Fraction(1, 3), 4))
    (Fraction(7, 2), (7, 2), (Fraction(7, 2), 5))
    >>> shaped((4,), True), shaped((4, 1), 3), shaped((3, 4), None)
    (4, Fraction(4, 1), (3, 4))
    """
    if like is None:
        return row[0] if len(row) == 1 else tuple(row)
    if isinstance(like, int) and len(row) == 2:
        like = Fraction(like)  # a whole number among rationals
    numbers = iter(row)

    def take(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(take(entry) for entry in part)
        return Fraction(next(numbers), next(numbers)) if isinstance(part, Fraction) else next(numbers)

    return take(like)


def _flatten(answer: Hashable) -> tuple[int, ...]:
    match answer:
        case int():
            return (answer,)
        case Fraction():
            return (answer.numerator, answer.denominator)
        case tuple():
            return tuple(n for part in answer for n in _flatten(part))
    raise ConstraintError(
        f"The answer {answer!r} cannot be written as whole numbers, which a vectorised rule needs. Give the rule as a "
        "plain Python function (vectorised=False)."
    )
