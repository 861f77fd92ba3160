"""The symbols of a formula, their codes at each site, and an exact reference evaluator.

A formula alternates digits (even sites) and operators (odd sites). A symbol's code is its place in the alphabet of its
own site, so digit 7 has code 6 and ``*`` has code 2. Values are fractions: 1/3*3 is 1, and two formulas agree only if
they are equal.
"""

from collections.abc import Sequence
from fractions import Fraction
from numbers import Integral

DIGITS: tuple[int, ...] = tuple(range(1, 10))
OPERATORS: tuple[str, ...] = ("+", "-", "*", "/")
SYMBOLS: tuple[int | str, ...] = (*DIGITS, *OPERATORS)  # the label of an image is a place in this tuple
LONGEST = 35  # symbols; longer formulas need numbers of more than 64 bits on the way to their value (see rule.py)


def value(symbols: Sequence[int | str]) -> Fraction | None:
    """The exact value, with the usual precedence; None where a sequence is not grammatical or divides by zero.

    >>> value([8, "/", 2, "/", 3, "-", 1])
    Fraction(1, 3)
    """
    kinds = (symbols[0::2], Integral), (symbols[1::2], str)
    if len(symbols) % 2 == 0 or not all(isinstance(symbol, kind) for part, kind in kinds for symbol in part):
        return None
    total, sign, term = Fraction(0), 1, Fraction(int(symbols[0]))
    for operator, operand in zip(symbols[1::2], map(int, symbols[2::2]), strict=True):
        match operator:
            case "+" | "-":
                total, sign, term = total + sign * term, 1 if operator == "+" else -1, Fraction(operand)
            case "*":
                term *= operand
            case "/" if operand != 0:
                term /= operand
            case _:
                return None
    return total + sign * term


def parse(text: str) -> tuple[int | str, ...]:
    """The symbols of a formula written without spaces; a character that is no symbol is kept as it is."""
    return tuple(int(character) if character in "123456789" else character for character in text)


def encode(symbols: Sequence[int | str]) -> list[int] | None:
    """The code of each symbol at its site, or None where a symbol does not belong at its site.

    >>> encode(parse("3*4"))
    [2, 2, 3]
    """
    codes = []
    for site, symbol in enumerate(symbols):
        alphabet: tuple[int | str, ...] = OPERATORS if site % 2 else DIGITS
        if not isinstance(symbol, Integral | str) or symbol not in alphabet:  # 2.0 equals 2 and is no digit
            return None
        codes.append(alphabet.index(symbol))
    return codes


def decode(codes: Sequence[int]) -> tuple[int | str, ...]:
    """The symbols that codes stand for."""
    return tuple(OPERATORS[code] if site % 2 else DIGITS[code] for site, code in enumerate(codes))
