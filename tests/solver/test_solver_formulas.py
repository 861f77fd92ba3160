"""Truth tables: what Z3's simplifier says of each combination, or nothing."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from softground.constraints.smt import terms_of
from softground.solver.truth_table import TruthTable
from softground.spaces import Categorical

z3 = pytest.importorskip("z3")

TERMS = terms_of(Categorical([range(-1, 3), (5, 2, -7), ("x", "y")]))
SITES = (0, 2, 1)
A, B, C = TERMS.variables


def number(chance: random.Random, depth: int) -> Any:
    """A random expression of whole numbers."""
    if depth == 0 or chance.random() < 0.2:
        return chance.choice([A, B, C, z3.IntVal(chance.randint(-4, 9))])
    a, b = (number(chance, depth - 1) for _ in range(2))
    divisor = chance.choice([-3, -1, 2, 5])
    made = [a + b, a - b, a * b, -a, a / divisor, a % divisor, z3.Sum(a, b, C), z3.Product(a, b, A)]
    return chance.choice([*made, z3.If(truth(chance, depth - 1), a, b), z3.Abs(a)])


def truth(chance: random.Random, depth: int) -> Any:
    """A random Bool."""
    if depth <= 0:
        return chance.choice([z3.BoolVal(True), z3.BoolVal(False), A == 1, B < C])
    a, b = (number(chance, depth - 1) for _ in range(2))
    p, q = (truth(chance, depth - 1) for _ in range(2))
    compared = [a == b, a != b, a < b, a <= b, a > b, a >= b, z3.Distinct(a, b, A)]
    joined = [z3.And(p, q, A != B), z3.Or(p, q), z3.Not(p), z3.Implies(p, q), z3.Xor(p, q), p == q, z3.If(p, q, A < 2)]
    return chance.choice(compared + joined)


def test_random_formulas_have_the_truth_that_z3_gives_them() -> None:
    chance = random.Random(0)
    some = [truth(chance, 3) for _ in range(100)]
    found = TruthTable(TERMS).solve(some, SITES)
    assert None not in found
    for formula, states in zip(some, found, strict=True):
        for codes in product(*(range(len(TERMS.symbols[site])) for site in SITES)):
            known = [(TERMS.variables[s], TERMS.numerals[s][code]) for s, code in zip(SITES, codes, strict=True)]
            assert z3.is_true(z3.simplify(z3.substitute(formula, *known))) == (codes in (states or ())), formula
    assert sum(0 < len(states or ()) < 24 for states in found) > 10


@pytest.mark.parametrize(
    "left",
    [
        pytest.param(z3.ToReal(A) * z3.Q(1, 2) == 1, id="rational"),
        pytest.param(z3.Int("own") == A, id="own constant"),
        pytest.param(z3.And(A == 1, z3.Bool("true")), id="own constant with an operation's name"),
        pytest.param(z3.Int("-7") == B, id="own constant with a number's name"),
        pytest.param(z3.Function("+", *[z3.IntSort()] * 3)(A, B) == 2, id="own function with an operation's name"),
        pytest.param(A % B == 1, id="divisor that is no number"),
        pytest.param(A / 0 == 1, id="divided by zero"),
        pytest.param(z3.ForAll([q := z3.Int("q")], q * q >= A), id="quantifier"),
        pytest.param(A * 2**61 + B == 2**61, id="more than 64 bits"),
        pytest.param(A * B == 2**80, id="number of more than 64 bits"),
        pytest.param(z3.PbEq([(A == 1, 1), (B == 2, 2)], 2), id="pseudo-Boolean"),
    ],
)
def test_what_is_not_of_whole_numbers_is_left_to_z3(left: Any) -> None:
    """Also where its steps have been read before, with numbers that could be evaluated."""
    plain = [A * 2 + B == 2, A / 3 == 1, A * B == 2]
    found = TruthTable(TERMS).solve([*plain, left, *plain], SITES)
    assert found[3] is None
    assert None not in found[:3]
    assert found[:3] == found[4:]


def test_texts_of_other_parts_of_the_program_stay_as_they_were() -> None:
    before = (A + B == 2).sexpr()
    TruthTable(TERMS).solve([A + B == 2], SITES)
    assert (A + B == 2).sexpr() == before
