"""The value of a formula found in another way than the library's: a shunting-yard over whole numbers.

Numbers and operators go onto two stacks; an operator first settles those before it that bind at least as tightly, so
that a − b − c is (a − b) − c. A value is a pair n/d that is reduced once, at the end: no :class:`fractions.Fraction`,
no running sum, nothing of the library's own evaluators.

Reference: E. W. Dijkstra, Algol 60 translation, Mathematisch Centrum MR 35/61 (1961).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

Pair = tuple[int, int]

_RANK = {"+": 1, "-": 1, "*": 2, "/": 2}


def evaluate(tokens: Sequence[Any]) -> Pair | None:
    """Numerator and positive denominator in lowest terms; None where the tokens have no value.

    >>> evaluate([8, "/", 2, "/", 3, "-", 1]), evaluate([1, "/", 0]), evaluate([1, "+"])
    ((1, 3), None, None)
    """
    numbers: list[Pair] = []
    operators: list[str] = []
    for place, token in enumerate(tokens):
        if place % 2 == 0:
            if not isinstance(token, Integral):
                return None
            numbers.append((int(token), 1))
            continue
        if not isinstance(token, str) or token not in _RANK:
            return None
        while operators and _RANK[operators[-1]] >= _RANK[token]:
            if not _settle(operators.pop(), numbers):
                return None
        operators.append(token)
    if len(numbers) != len(operators) + 1:
        return None
    while operators:
        if not _settle(operators.pop(), numbers):
            return None
    n, d = numbers[0]
    shared = math.gcd(n, d) if d > 0 else -math.gcd(n, d)
    return n // shared, d // shared


def _settle(operator: str, numbers: list[Pair]) -> bool:
    """Replace the last two numbers by what the operator makes of them; False for a division by zero."""
    (a, b), (c, d) = numbers[-2], numbers.pop()
    if operator == "+":
        numbers[-1] = a * d + c * b, b * d
    elif operator == "-":
        numbers[-1] = a * d - c * b, b * d
    elif operator == "*":
        numbers[-1] = a * c, b * d
    else:
        numbers[-1] = a * d, b * c
    return numbers[-1][1] != 0


__all__ = ["Pair", "evaluate"]
