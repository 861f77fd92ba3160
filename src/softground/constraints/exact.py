"""Answers in exact form, so that feasibility is a test of equality, without a float tolerance.

Ints, bools, :class:`fractions.Fraction`, ``Decimal``, strings, dates, and tuples and sets of these are exact. A float
is exact only if it is a whole number.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ..errors import ConstraintError


def exact(answer: Any) -> Hashable:
    """The answer in one canonical, hashable, exact form (a zero-dimensional array counts as its number).

    >>> exact(Fraction(4, 2)), exact([1, True]), exact("3h"), exact(7.0), exact(Decimal("0.5"))
    (2, (1, 1), '3h', 7, Fraction(1, 2))
    >>> exact(datetime(2026, 11, 20)), exact({1, 2.0})  # midnight is the day, as pandas has it
    (datetime.date(2026, 11, 20), frozenset({1, 2}))
    """
    if hasattr(answer, "tolist"):  # numpy and torch scalars and arrays
        answer = answer.tolist()
    if isinstance(answer, str):
        return answer
    if isinstance(answer, list | tuple):
        return tuple(exact(a) for a in answer)
    if isinstance(answer, set | frozenset):
        return frozenset(exact(a) for a in answer)
    if isinstance(answer, date):
        midnight = isinstance(answer, datetime) and answer.tzinfo is None and answer.time() == time()
        return answer.date() if midnight else answer  # type: ignore[attr-defined]
    if isinstance(answer, Decimal) and answer.is_finite():
        answer = Fraction(answer)
    if isinstance(answer, Fraction):
        return answer.numerator if answer.denominator == 1 else answer
    if isinstance(answer, float) and answer.is_integer():
        return int(answer)
    if isinstance(answer, float):
        raise ConstraintError(
            f"The answer {answer!r} is a float and no whole number, so it is not exact. Give an int or a "
            "fractions.Fraction (for example Fraction(7, 2) for 3.5), or None where the answer is unknown."
        )
    try:
        return operator.index(answer)
    except TypeError:
        raise ConstraintError(
            f"The answer {answer!r} is a {type(answer).__name__}; expected a number, a string, a date, a tuple or "
            "set of these, or a relation such as OneOf(3, 4); None where the answer is unknown."
        ) from None


def integers(answer: Hashable, width: int) -> tuple[int, ...]:
    """An exact answer as ``width`` whole numbers, the row a vectorised rule must return for it.

    An int is itself, a rational its numerator and positive denominator in lowest terms, a tuple its entries one after
    the other. For a rule that returns a pair, an int n is n/1.

    >>> integers(Fraction(7, 2), 2), integers(3, 2), integers((1, 2, 3), 3)
    ((7, 2), (3, 1), (1, 2, 3))
    """
    row = (answer, 1) if isinstance(answer, int) and width == 2 else _flatten(answer)
    if len(row) != width:
        raise ConstraintError(
            f"The answer {answer!r} is {len(row)} whole number(s), but the vectorised rule returns {width} per state. "
            "Return one tensor for ints, (numerator, denominator) for rationals, one tensor per entry for tuples. If "
            "the last one says which states have an answer, say so: Program(…, partial=True)."
        )
    if any(not -(2**63) <= number < 2**63 for number in row):
        shown = text if len(text := str(answer)) <= 60 else f"{text[:60]}…"
        raise ConstraintError(
            f"The answer {shown} does not fit into 64 bits, which a vectorised rule needs. Give the rule as a plain "
            "Python function."
        )
    return row


def shaped(row: Sequence[int], like: object) -> Any:
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

    def take(part: object) -> Any:
        if isinstance(part, tuple):
            return tuple(take(entry) for entry in part)
        return Fraction(next(numbers), next(numbers)) if isinstance(part, Fraction) else next(numbers)

    try:
        return take(like)
    except ZeroDivisionError as error:
        raise ConstraintError(
            f"The vectorised rule returned {tuple(row)}, read as (numerator, denominator); expected a positive "
            "denominator. Say which states have no answer: Program(…, partial=True)."
        ) from error


def outline(form: object) -> Any:
    """Where the rationals of a tuple stand; None for a number.

    >>> outline((Fraction(1, 3), (4, 5))), outline(Fraction(1, 3)), outline(3)
    ((True, (False, False)), None, None)
    """
    return tuple(outline(part) or isinstance(part, Fraction) for part in form) if isinstance(form, tuple) else None


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
