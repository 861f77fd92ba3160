r"""Formulas with a wanted value, by one of their terms.

A formula is a sum of terms, products and quotients of digits. Terms have few values: with j digits

.. math:: t = 2^a\, 3^b\, 5^c\, 7^d ,

26,073 of them for nine digits, against 10¹⁴ ways to write them. So all values t of a term are gone through, and what is
left, y − t or y + t, is looked for among all formulas of the remaining length where these can be listed (7 symbols). As
terms may change places, nothing is missed there. Otherwise random prefixes look for it
(:mod:`~softground.tasks.formulas.long`), the simplest ones first: a rest without the rare denominator or the size that
made y hard to find.

Whether t − … can take a denominator away is seen from its exponents: where those of a prime p differ,
:math:`v_p(y \mp t) = \min(v_p(y), v_p(t))`. Only what is left after that is computed, exactly.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

PRIMES = (2, 3, 5, 7)
BASE = 256  # exponents are written as one whole number; none is beyond ±127
MINUS, TIMES, DIVIDE = 1, 2, 3  # the operators' codes are 0 … 3 for + − × ÷
ABSENT = 127  # the exponents of 0


class Peeled(NamedTuple):
    """y = t + rest, t − rest or rest − t, with t a term of ``digits`` digits."""

    term: int
    digits: int
    operator: int  # before the rest, or before the term where that comes last
    last: bool
    rest: Fraction

    def joined(self, rest: list[int]) -> list[int]:
        """The codes of the whole formula, given those of the rest."""
        term = written(self.term, self.digits)
        if self.last:
            return [*rest, self.operator, *term]
        if self.operator == MINUS:  # which changes the sign of all that follows
            rest = [1 - code if site % 2 and code <= MINUS else code for site, code in enumerate(rest)]
        return [*term, self.operator, *rest]


@cache
def term_values(digits: int) -> Tensor:
    """The values of all terms of this many digits, sorted by what they are written as.

    >>> [len(term_values(digits)) for digits in (1, 2, 3)]
    [9, 82, 357]
    """
    factors = torch.tensor([_digit(digit) for digit in range(1, 10)])
    shorter = torch.zeros(1, 1, dtype=torch.long) if digits == 1 else term_values(digits - 1)[:, None]
    found: Tensor = torch.unique(
        torch.cat([shorter + factors, shorter - factors] if digits > 1 else [shorter + factors])
    )
    return found


def exponents(terms: Tensor) -> Tensor:
    """The exponents of 2, 3, 5 and 7, ``[…, 4]``."""
    found = []
    for _ in PRIMES:
        found.append((terms + BASE // 2) % BASE - BASE // 2)
        terms = torch.div(terms - found[-1], BASE, rounding_mode="floor")
    return torch.stack(found, -1)


def written(term: int, digits: int) -> list[int]:
    """One way to write a term's value with this many digits, as codes.

    >>> written(int(term_values(2)[0]), 2)
    [0, 3, 6]
    """
    symbols: list[int] = []
    for shorter in range(digits - 1, 0, -1):
        known = term_values(shorter)
        ways = [(term - sign * _digit(d), op, d) for d in range(1, 10) for sign, op in ((1, TIMES), (-1, DIVIDE))]
        wanted = torch.tensor([way[0] for way in ways])
        place = torch.searchsorted(known, wanted).clamp(max=len(known) - 1)
        term, operator, digit = ways[int((known[place] == wanted).to(torch.uint8).argmax())]
        symbols = [operator, digit - 1, *symbols]
    return [next(d - 1 for d in range(1, 10) if _digit(d) == term), *symbols]


def whole_term(y: Fraction, digits: int) -> list[int] | None:
    """The formula that is one term, if there is one."""
    known, term = term_values(digits), _code(y)
    return None if y <= 0 or term is None or not bool((known == term).any()) else written(term, digits)


def peeled(y: Fraction, digits: int, denominator: int, size: int) -> Iterator[Peeled]:
    """All ways to take a term of ``digits`` digits off y that leave a rest within these bounds."""
    terms = term_values(digits)
    powers = exponents(terms)
    own = torch.tensor(_valuations(y))
    low = torch.where(powers == own, 0, torch.minimum(powers, own)).clamp(max=0)
    logs = torch.tensor([math.log(p) for p in PRIMES], dtype=torch.float64)
    value = (powers * logs).sum(-1).exp()
    simple = -(low * logs).sum(-1) <= math.log(denominator) + 1e-9
    for sign in (-1, 1):
        near = (float(y) + sign * value).abs() <= size * (1 + 1e-6) + 1e-6 * abs(float(y))
        kept = simple & near
        for term, factors in zip(terms[kept].tolist(), powers[kept].tolist(), strict=True):
            rest = y + sign * _product(factors)
            if rest.denominator > denominator or abs(rest) > size:
                continue
            if sign == 1:
                yield Peeled(term, digits, MINUS, True, rest)
            else:
                yield Peeled(term, digits, 0, False, rest)
                yield Peeled(term, digits, MINUS, False, -rest)


def _digit(digit: int) -> int:
    """A digit by its exponents, as one whole number: products of digits are sums of these."""
    code = _code(Fraction(digit))
    assert code is not None
    return code


def _code(value: Fraction) -> int | None:
    """A value by its exponents, as one whole number; None where another prime divides it."""
    found = _valuations(value)
    if _product(found) != value:
        return None
    return sum(e * int(BASE**place) for place, e in enumerate(found))


def _product(powers: list[int]) -> Fraction:
    """The value with these exponents."""
    above = math.prod(p**e for p, e in zip(PRIMES, powers, strict=True) if e > 0)
    return Fraction(above, math.prod(p**-e for p, e in zip(PRIMES, powers, strict=True) if e < 0))


def _valuations(value: Fraction) -> list[int]:
    """How often each prime divides a value."""
    return [_times(value.numerator, p) - _times(value.denominator, p) for p in PRIMES]


def _times(number: int, prime: int) -> int:
    count = 0
    while number and number % prime == 0:
        number, count = number // prime, count + 1
    return count if number else ABSENT
