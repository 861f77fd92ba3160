r"""The rule of handwritten formulas: symbols to an exact value.

A formula alternates digits 1 … 9 and operators + − × ÷, with the usual precedence, read once from left to right
while a finished sum N/D and a running term n/d are kept:

- × and ÷ extend the term, :math:`n \leftarrow n\,b` or :math:`d \leftarrow d\,b`;
- + and − close it, :math:`N/D \leftarrow N/D \pm n/d`, and begin the next.

Values are rationals in lowest terms, so whole numbers decide feasibility. With k digits no intermediate number exceeds
:math:`k\,9^k`, which fits into 64 bits up to k = 18, formulas of length 35. Nothing is divided by zero with digits
1 … 9. A reading with an operator in a digit's place, or a digit in an operator's, is no formula and has no value.

**As a Z3 formula.** Each term of the sum is split into a rational c of the known digits and two lists of unknown ones,
above and below the line. The known terms move to the right-hand side r, and both sides are multiplied by the unknown
divisors, so that Z3 sees a polynomial equation over whole numbers and never a division,

.. math:: \sum_t c_t \prod_{a \in \text{above}_t} a \prod_{s \ne t} \prod_{b \in \text{below}_s} b
          = r \prod_s \prod_{b \in \text{below}_s} b,

guarded by 'no divisor is zero'. The walk mostly keeps the operators; the few that it drops are split into cases.
"""

import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from ...constraints.program import Program
from ...constraints.smt import load_z3
from ...errors import ConstraintError, SpaceError
from ...spaces.categorical import Categorical, Readings
from .data.alphabet import DIGITS, LONGEST, OPERATORS, SYMBOLS

PLUS, MINUS, TIMES, DIVIDE = CODES = range(4)


def formula_space(length: int = 7, readings: Readings = "grammatical", mixed: bool = False) -> Categorical:
    """Digits at even sites, operators at odd ones (counted from 0); ``readings`` says what a network may read there.

    ``mixed`` with other lengths, a formula of one digit has a network that knows operators too.
    """
    if length < 1 or length % 2 == 0 or length > LONGEST:
        raise SpaceError(f"A formula of length {length} was asked for; expected an odd number from 1 to {LONGEST}.")
    return Categorical(
        [OPERATORS if site % 2 else DIGITS for site in range(length)],
        readings=readings,
        symbols=SYMBOLS if mixed else None,
    )


def value(*symbols: Tensor) -> tuple[Tensor, Tensor]:
    """Numerator and denominator, in lowest terms, of a batch of formulas: here 4 × 9 + 3 ÷ 9.

    >>> [n.item() for n in value(*torch.tensor([[4], [2], [9], [0], [3], [3], [9]]))]
    [109, 3]
    """
    n, d = symbols[0], torch.ones_like(symbols[0])  # n has the term's sign
    total, below = torch.zeros_like(n), d
    if len(symbols) > 1:
        operators, digits = torch.stack(symbols[1::2]), torch.stack(symbols[2::2])
        times, over = (torch.where(operators == code, digits, 1) for code in (2, 3))
        for closes, begins, b, c in zip(operators < 2, digits * (1 - 2 * operators), times, over, strict=True):
            total = torch.where(closes, torch.addcmul(total * d, n, below), total)
            below = torch.where(closes, below * d, below)
            n, d = torch.where(closes, begins, n * b), torch.where(closes, 1, d * c)
    total, below = torch.addcmul(total * d, n, below), below * d
    shared = torch.gcd(total, below)
    return total // shared, below // shared


def formula_program(length: int = 7, readings: Readings = "grammatical", mixed: bool = False) -> Program:
    """The rule as a vectorised constraint."""
    return Program(value, formula_space(length, readings, mixed), vectorised=True)


@dataclass
class Product:
    """One product of the sum: the rational of its known digits, and the unknown digits above and below the line."""

    known: Fraction
    above: list[Any] = field(default_factory=list)
    below: list[Any] = field(default_factory=list)


def formula_rule(z: Sequence[Any], y: int | Fraction) -> Any:
    """Digit, operator, digit, … with the usual precedence equals y, and nothing is divided by zero.

    Digits are their own value; operators are 0 … 3 for + − × ÷. Each entry may be a Python int, a Z3 numeral or
    any Z3 Int expression. Returns a Python bool where every entry is known, else a Z3 Bool.
    """
    if not isinstance(y, int | Fraction):
        raise ConstraintError(f"A formula's answer is an int or a fractions.Fraction; {y!r} was given.")
    z3 = load_z3()
    entries = [e.as_long() if isinstance(e, z3.IntNumRef) else e for e in z]
    if len(entries) % 2 == 0 or not all(isinstance(e, (int, z3.ArithRef)) for e in entries):
        raise ConstraintError(
            f"The symbols {str(entries)[:200]} were given; a formula has an odd number of them, each an int or a Z3 "
            "Int expression: digit, operator, digit, …"
        )
    digits, operators = entries[::2], entries[1::2]
    unknown = [i for i, code in enumerate(operators) if not isinstance(code, int)]
    if strange := [code for code in operators if isinstance(code, int) and code not in CODES]:
        raise ConstraintError(f"The operator {strange[0]} was given; expected 0 … 3 for + − × ÷.")
    if not unknown:
        return _equation(z3, digits, operators, y)
    cases = []
    for codes in itertools.product(CODES, repeat=len(unknown)):
        chosen = dict(zip(unknown, codes, strict=True))
        case = _equation(z3, digits, [chosen.get(i, code) for i, code in enumerate(operators)], y)
        if case is not False:
            cases.append(z3.And(*(operators[i] == code for i, code in chosen.items()), case))
    return z3.Or(*cases) if cases else False


def _equation(z3: Any, digits: list[Any], operators: list[int], y: int | Fraction) -> Any:
    """The formula for known operators."""
    terms = _terms(digits, operators)
    if terms is None:
        return False
    unknown = [term for term in terms if term.above or term.below]
    rest = y - sum((term.known for term in terms if not (term.above or term.below)), Fraction(0))
    if not unknown:
        return rest == 0
    scale = math.lcm(rest.denominator, *(term.known.denominator for term in unknown))
    below = [b for term in unknown for b in term.below]
    products = []
    for term in unknown:
        others = [b for other in unknown if other is not term for b in other.below]
        products.append(_product(term.known * scale, term.above + others))
    equation = reduce(operator.add, products) == _product(rest * scale, below)
    return z3.And(equation, _product(Fraction(1), below) != 0) if below else equation


def _terms(digits: list[Any], operators: list[int]) -> list[Product] | None:
    """The terms of the sum, in one pass from left to right; None where a known digit 0 divides."""
    terms: list[Product] = []
    for code, digit in zip([PLUS, *operators], digits, strict=True):
        if code in (PLUS, MINUS):
            terms.append(Product(Fraction(1 if code == PLUS else -1)))
        last = terms[-1]
        if not isinstance(digit, int):
            (last.below if code == DIVIDE else last.above).append(digit)
        elif code != DIVIDE:
            last.known *= digit
        elif digit:
            last.known /= digit
        else:
            return None
    return terms


def _product(coefficient: Fraction, factors: list[Any]) -> Any:
    """A whole number times the factors, with as few Z3 calls as possible: each costs about 10 µs."""
    whole = coefficient.numerator
    if whole == 0 or not factors:
        return whole
    product = math.prod(factors[1:], start=factors[0])
    return product if whole == 1 else product * whole
