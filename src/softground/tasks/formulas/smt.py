r"""The rule of handwritten formulas as a Z3 formula, for the Z3 inverse.

Each term of the sum is split into a rational c of the known digits and two lists of unknown ones, above and below
the line. The known terms move to the right-hand side r, and both sides are multiplied by the unknown divisors, so
that Z3 sees a polynomial equation over whole numbers and never a division,

.. math:: \sum_t c_t \prod_{a \in \text{above}_t} a \prod_{s \ne t} \prod_{b \in \text{below}_s} b
          = r \prod_s \prod_{b \in \text{below}_s} b,

guarded by 'no divisor is zero'. The walk mostly keeps the operators; the few that it drops are split into cases.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ...constraints.smt import SMT, load_z3
from ...errors import ConstraintError
from .rule import formula_space

PLUS, MINUS, TIMES, DIVIDE = range(4)


class Term(NamedTuple):
    """One product of the sum: a rational, and the unknown digits above and below the line."""

    top: int
    bottom: int
    above: list[Any]
    below: list[Any]


def formula_smt(length: int = 7) -> SMT:
    """The rule as a constraint for :class:`~softground.inverses.z3.Z3`."""
    return SMT(formula_rule, formula_space(length))


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
    unknown = [i for i, operator in enumerate(operators) if not isinstance(operator, int)]
    if not unknown:
        return _equation(z3, digits, operators, y)
    cases = []
    for codes in itertools.product((PLUS, MINUS, TIMES, DIVIDE), repeat=len(unknown)):
        known = list(operators)
        for i, code in zip(unknown, codes, strict=True):
            known[i] = code
        case = _equation(z3, digits, known, y)
        if case is not False:
            chosen = [operators[i] == code for i, code in zip(unknown, codes, strict=True)]
            cases.append(z3.And(*chosen, case))
    return z3.Or(*cases) if cases else False


def _equation(z3: Any, digits: list[Any], operators: list[int], y: int | Fraction) -> Any:
    """The formula for known operators."""
    terms = _terms(digits, operators)
    if any(term.bottom == 0 for term in terms):
        return False
    rest, unknown = y, []
    for term in terms:
        if term.above or term.below:
            unknown.append(term)
        else:
            rest -= Fraction(term.top, term.bottom)
    if not unknown:
        return rest == 0
    scale = math.lcm(rest.denominator, *(term.bottom for term in unknown))
    below = [b for term in unknown for b in term.below]
    left = None
    for term in unknown:
        others = [b for other in unknown if other is not term for b in other.below]
        product = _product(term.top * (scale // term.bottom), term.above + others)
        left = product if left is None else left + product
    equation = left == _product(rest.numerator * (scale // rest.denominator), below)
    return z3.And(equation, _product(1, below) != 0) if below else equation


def _terms(digits: list[Any], operators: list[int]) -> list[Term]:
    """The terms of the sum, in one pass from left to right."""
    terms = []
    top, bottom, above, below = _begin(digits[0], 1)
    for operator, digit in zip(operators, digits[1:], strict=True):
        if operator in (PLUS, MINUS):
            terms.append(Term(top, bottom, above, below))
            top, bottom, above, below = _begin(digit, 1 if operator == PLUS else -1)
        elif operator == TIMES:
            if isinstance(digit, int):
                top *= digit
            else:
                above.append(digit)
        elif operator == DIVIDE:
            if isinstance(digit, int):
                bottom *= digit
            else:
                below.append(digit)
        else:
            raise ConstraintError(f"The operator {operator} was given; expected 0 … 3 for + − × ÷.")
    terms.append(Term(top, bottom, above, below))
    return terms


def _begin(digit: Any, sign: int) -> Term:
    return Term(sign * digit, 1, [], []) if isinstance(digit, int) else Term(sign, 1, [digit], [])


def _product(coefficient: int, factors: list[Any]) -> Any:
    """The product with as few Z3 calls as possible: each costs about 10 µs."""
    if coefficient == 0 or not factors:
        return coefficient
    product = math.prod(factors[1:], start=factors[0])
    return product if coefficient == 1 else product * coefficient
