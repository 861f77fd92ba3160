"""Quick arithmetic on Z3's terms: the expressions that Z3's own interface makes."""

from __future__ import annotations

import operator
from typing import Any

import pytest

from softground.constraints.smt import terms_of
from softground.spaces import Categorical

z3 = pytest.importorskip("z3")

ARITHMETIC = (operator.add, operator.sub, operator.mul)
COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


@pytest.mark.parametrize("apply", ARITHMETIC + COMPARISONS)
def test_expressions_are_those_of_z3(apply: Any) -> None:
    """Of terms, numerals, Python's ints, and whatever else Z3 takes beside an Int."""
    terms = terms_of(Categorical([range(3), range(4)]))
    (a, b), one = terms.variables, terms.numerals[0][1]
    (x, y), plain, real = z3.Ints("softground.site.0 softground.site.1"), z3.IntVal(1), z3.Real("r")
    assert hash(a) == hash(x)
    same = {a: x, b: y, one: plain}
    pairs = [(a, b), (a, 7), (7, a), (a, one), (one, a), (one, one), (a, real), (a, y), (a, True)]
    pairs += [(a, 10**30), (-(10**30), a)] + ([(a, x > 1), (real, a), (y, a)] if apply in ARITHMETIC else [])
    for left, right in pairs:
        theirs = apply(same.get(left, left), same.get(right, right))
        assert apply(left, right).eq(theirs), theirs
        assert isinstance(apply(left, right), type(theirs))
    if apply in ARITHMETIC:
        assert (apply(apply(a, 2), b) - one == 3).eq(apply(apply(x, 2), y) - plain == 3)
