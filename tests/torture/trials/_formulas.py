"""Random formulas, most of them right, many of them wrong: what the evaluators are fed with."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

LONGEST = 35  # the longest formula of the vectorised rule
FAR = 999  # the longest formula drawn at all
OPERATORS = ("+", "-", "*", "/")
HUGE = (2**31, 2**63 - 1, -(2**63), 2**64, 10**40, -(10**100), np.int64(2**62), np.uint8(200))
JUNK = (
    None,
    "",
    " ",
    "^",
    "**",
    "//",
    "(",
    ")",
    "12",
    "1",
    "−",
    "×",
    "²",
    "+-",
    "\0",
    "\ud800",
    "x" * 50,
    b"+",
    1.5,
    2.0,
    float("nan"),
    float("inf"),
    1j,
    (),
    (1,),
    [1],
    {"+": 1},
    np.zeros(2),
    np.array(["+", "-"]),
    np.str_("+"),
)

Formula = list[Any]


def draw(rng: random.Random) -> tuple[str, Formula]:
    """A kind and a formula of that kind.

    ``digits``: 1 … 9 and operators in turn, up to length 35, which every evaluator takes. ``long``: the same, up to
    length 999. ``wide``: any whole numbers, of up to a hundred digits. ``zeros``: mostly zeros and divisions.
    ``malformed``: one of these, with symbols left out, put in, exchanged or replaced by what is no symbol.
    """
    chance = rng.random()
    if chance < 0.6:
        return "digits", digits(rng, _odd(rng, LONGEST))
    if chance < 0.605:
        return "long", digits(rng, _odd(rng, FAR))
    if chance < 0.75:
        return "wide", _alternating(rng, _odd(rng, LONGEST), _wide)
    if chance < 0.85:
        return "zeros", _zeros(rng)
    return "malformed", _malformed(rng)


def digits(rng: random.Random, length: int) -> Formula:
    """Digits 1 … 9 and operators, all independent."""
    formula: Formula = [0] * length
    formula[0::2] = rng.choices(range(1, 10), k=(length + 1) // 2)
    formula[1::2] = rng.choices(OPERATORS, k=length // 2)
    return formula


def _odd(rng: random.Random, longest: int) -> int:
    return 1 + 2 * int(rng.random() * ((longest + 1) // 2))


def _alternating(rng: random.Random, length: int, number: Any) -> Formula:
    return [rng.choice(OPERATORS) if site % 2 else number(rng) for site in range(length)]


def _wide(rng: random.Random) -> Any:
    return rng.choice(HUGE) if rng.random() < 0.3 else rng.randint(-12, 12)


def _zeros(rng: random.Random) -> Formula:
    """Chains such as 0/0/0*1/0: a zero may be divided, and never divides."""
    length = _odd(rng, LONGEST)
    return [
        rng.choices(OPERATORS, weights=(1, 1, 2, 6))[0] if site % 2 else int(rng.random() < rng.random())
        for site in range(length)
    ]


def _malformed(rng: random.Random) -> Formula:
    formula = digits(rng, _odd(rng, 15)) if rng.random() < 0.8 else _zeros(rng)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(formula) + 1)
        other = rng.choice(JUNK) if rng.random() < 0.5 else rng.choice([*OPERATORS, *range(10)])
        match rng.randrange(5):
            case 0:
                del formula[at : at + 1]
            case 1:
                formula.insert(at, other)
            case 2:
                formula[at : at + 1] = [other]
            case 3:
                rng.shuffle(formula)
            case _:
                formula = formula[:at]
    return formula


__all__ = ["FAR", "LONGEST", "Formula", "digits", "draw"]
