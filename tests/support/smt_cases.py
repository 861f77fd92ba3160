"""What the tests of Z3 share: a formula's value by the textbook, and fibres as lists."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from softground.inverses.base import Fibre


def value(symbols: tuple[Any, ...]) -> Fraction | None:
    """A formula's exact value by the textbook: products first, then the sum; None for a division by zero."""
    terms, signs = [Fraction(symbols[0])], [1]
    for operator, digit in zip(symbols[1::2], symbols[2::2], strict=True):
        if operator in "+-":
            terms.append(Fraction(digit))
            signs.append(1 if operator == "+" else -1)
        elif operator == "*":
            terms[-1] *= digit
        elif digit == 0:
            return None
        else:
            terms[-1] /= digit
    return sum((s * t for s, t in zip(signs, terms, strict=True)), Fraction(0))


def ragged(fibre: Fibre) -> list[list[tuple[int, ...]]]:
    return [[tuple(v) for v in values[mask].tolist()] for values, mask in zip(fibre.values, fibre.mask, strict=True)]
