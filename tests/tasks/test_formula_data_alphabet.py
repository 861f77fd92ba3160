"""Symbols, codes and the exact evaluator."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from softground.tasks.formulas.data.alphabet import DIGITS, OPERATORS, decode, encode, parse, value

Symbols = tuple[int | str, ...]


def by_splitting(symbols: Symbols) -> Fraction:
    """The value found another way: cut at the last operator of the lowest rank, and recurse."""
    for rank in ("+-", "*/"):
        for at in reversed(range(1, len(symbols), 2)):
            if str(symbols[at]) in rank:
                left, right = by_splitting(symbols[:at]), by_splitting(symbols[at + 1 :])
                match symbols[at]:
                    case "+":
                        return left + right
                    case "-":
                        return left - right
                    case "*":
                        return left * right
                    case _:
                        return left / right
    return Fraction(int(symbols[0]))


def test_value_agrees_with_another_algorithm() -> None:
    for first, a, second, b, third in product((1, 6, 9), OPERATORS, (2, 7), OPERATORS, (3, 9)):
        symbols: Symbols = (first, a, second, b, third)
        assert value(symbols) == by_splitting(symbols)
    rng = np.random.default_rng(0)
    for length in (1, 3, 7, 11):
        for _ in range(100):
            symbols = tuple(
                OPERATORS[rng.integers(4)] if site % 2 else DIGITS[rng.integers(9)] for site in range(length)
            )
            assert value(symbols) == by_splitting(symbols)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", Fraction(7)),
        ("1/3*3", Fraction(1)),
        ("8/2/3", Fraction(4, 3)),
        ("2+3*4-6/4", Fraction(25, 2)),
        ("1-2-3", Fraction(-4)),
    ],
)
def test_known_values(text: str, expected: Fraction) -> None:
    found = value(parse(text))
    assert found == expected
    assert isinstance(found, Fraction)


@pytest.mark.parametrize(
    "symbols",
    [
        (),
        (1, "+"),
        ("+",),
        (1, 2, 3),
        (1, "+", "+"),
        ("1", "+", 2),
        (1, "%", 2),
        (1, "/", 0),
        (4, "+", 1, "/", 0, "*", 2),
        (1, np.array(["+", "-"]), 2),
        (np.zeros(2), "+", 2),
        (1, 0, 2),
    ],
)
def test_sequences_without_value(symbols: Symbols) -> None:
    assert value(symbols) is None


def test_zero_may_be_divided_and_numpy_integers_are_exact() -> None:
    assert value((0, "/", 5)) == 0
    large: list[Any] = [np.int64(2**62), "*", np.int64(2**62)]
    assert value(large) == Fraction(2**124)


def test_codes_are_local_to_their_site() -> None:
    assert encode(parse("1+9/5")) == [0, 0, 8, 3, 4]
    assert decode([0, 0, 8, 3, 4]) == (1, "+", 9, "/", 5)


@pytest.mark.parametrize("text", ["+1+", "12", "0+1", "1^2", "1+a"])
def test_symbols_out_of_place_have_no_codes(text: str) -> None:
    assert encode(parse(text)) is None


@pytest.mark.parametrize("symbol", [2.0, None, np.zeros(2), [2]])
def test_what_is_no_symbol_has_no_code(symbol: Any) -> None:
    assert encode([8, "*", symbol]) is None
    assert encode([8, "*", np.int64(2)]) == [7, 2, 1]
