"""Rules given as Z3 formulas against brute force, and the edges of the Z3 inverse."""

from __future__ import annotations

import itertools
import subprocess
import sys
from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from smt_cases import ragged, value
from softground.constraints.base import Constraint
from softground.constraints.smt import SMT
from softground.errors import ConstraintError, InverseError
from softground.inverses import solutions
from softground.inverses.base import Inverse
from softground.inverses.z3 import Z3
from softground.projections import Dropped
from softground.spaces import Categorical
from softground.tasks.formulas.rule import formula_rule

z3 = pytest.importorskip("z3")


def everything(space: Categorical) -> torch.Tensor:
    return space.states(torch.arange(space.size))


def test_feasible_equals_brute_force_for_every_state_and_answer() -> None:
    space = Categorical([range(10), "+-*/", range(3)])
    rule = SMT(formula_rule, space)
    answers = [0, 3, Fraction(9, 2), -1, 14, 1000]
    z = everything(space)
    for y, answer in zip(rule.encode(answers), answers, strict=True):
        truth = [value(symbols) == answer for symbols in space.decode(z)]
        assert rule.feasible(z, y.expand(len(z))).tolist() == truth


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_formula_rule_on_known_entries_equals_the_textbook(data: st.DataObject) -> None:
    digits = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=6))
    operators = data.draw(st.lists(st.sampled_from("+-*/"), min_size=len(digits) - 1, max_size=len(digits) - 1))
    symbols = tuple(s for pair in itertools.zip_longest(digits, operators) for s in pair if s is not None)
    truth = value(symbols)
    codes = ["+-*/".index(s) if isinstance(s, str) else s for s in symbols]
    answer = truth if truth is not None else Fraction(0)
    for y, expected in ((answer, truth is not None), (answer + Fraction(1, 7), False)):
        assert formula_rule(codes, y) is expected
        assert formula_rule([z3.IntVal(c) for c in codes], y) is expected


@pytest.mark.parametrize("symbols", [[], [1, 0], [1, 0, 2, 1], ["1"], [1, "+", 2], [1.0], [1, None, 2]], ids=str)
def test_formula_rule_refuses_what_is_no_formula(symbols: list[Any]) -> None:
    with pytest.raises(ConstraintError, match="an odd number of them, each an int or a Z3 Int expression"):
        formula_rule(symbols, 3)


def test_formula_rule_refuses_an_operator_that_is_none_wherever_it_stands() -> None:
    for symbols in ([1, 4, 2], [1, -1, 2], [1, 3, 0, 7, 2]):  # in the last one, after a division by zero
        with pytest.raises(ConstraintError, match=r"The operator \S+ was given; expected 0 … 3"):
            formula_rule(symbols, 3)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_formula_rule_with_unknown_entries_has_the_models_of_the_textbook(data: st.DataObject) -> None:
    """Symbolic entries, substituted afterwards: the case split and the cleared denominators change nothing."""
    codes = [data.draw(st.integers(0, 3 if site % 2 else 4)) for site in range(5)]
    free = data.draw(st.sets(st.integers(0, 4), min_size=1, max_size=3))
    states = [
        [data.draw(st.integers(0, 3 if s % 2 else 4)) if s in free else c for s, c in enumerate(codes)]
        for _ in range(5)
    ]
    symbols = [tuple("+-*/"[c] if s % 2 else c for s, c in enumerate(state)) for state in states]
    y = value(symbols[0])
    y = Fraction(2) if y is None else y
    unknown = {site: z3.Int(f"u{site}") for site in free}
    formula = formula_rule([unknown.get(site, z3.IntVal(c)) for site, c in enumerate(codes)], y)
    for state, text in zip(states, symbols, strict=True):
        known = [(v, z3.IntVal(state[site])) for site, v in unknown.items()]
        held = formula if isinstance(formula, bool) else z3.is_true(z3.simplify(z3.substitute(formula, *known)))
        assert held is (value(text) == y)


def test_division_by_zero_is_infeasible_for_any_answer() -> None:
    space = Categorical([range(3), "+-*/", range(2)])
    rule = SMT(formula_rule, space)
    z = space.encode([(0, "/", 0), (2, "/", 0), (2, "/", 1)])
    for answer, truth in ((0, [False, False, False]), (2, [False, False, True])):
        assert rule.feasible(z, rule.encode([answer] * 3)).tolist() == truth


def test_a_formula_sees_symbols_where_they_are_ints_and_codes_otherwise() -> None:
    space = Categorical([(5, 3, 9), ("x", "y"), (2, "z")])
    seen = []

    def first(z: list[Any], y: Any) -> Any:
        seen.append([e.as_long() for e in z])
        return z[0] == y

    rule = SMT(first, space)
    assert rule.feasible(space.encode([(3, "y", "z")]), rule.encode([3])).tolist() == [True]
    assert seen == [[3, 1, 1]]


def test_answers_of_every_exact_kind() -> None:
    space = Categorical([range(4)])
    rule = SMT(lambda z, y: z[0] == {"one": 1, (2, 0): 2}.get(y, y), space)
    y = rule.encode(["one", (2, 0), [2, 0], 3, Fraction(6, 2)])
    assert y.tolist() == [0, 1, 1, 2, 2]
    assert rule.answer(y[0]) == "one"
    assert rule.feasible(torch.tensor([[1], [2], [1], [3], [0]]), y).tolist() == [True, True, False, True, False]
    with pytest.raises(ConstraintError, match=r"Example 1.*not exact"):
        rule.encode([1, 0.5])


def test_lists_bools_and_own_constants() -> None:
    """A list is a conjunction; the formula's own constants are existential, decided by the solver."""
    space = Categorical([range(10), range(10)])

    def sum_of_squares(z: list[Any], y: Any) -> list[Any]:
        a = z3.Int("a")
        return [z[0] < z[1], True, a >= 0, a <= 20, a * a == z[0] * z[0] + z[1] * z[1]]

    z = space.encode([(3, 4), (4, 3), (3, 5), (6, 8)])
    rule = SMT(sum_of_squares, space)
    assert rule.feasible(z, rule.encode(["any"] * 4)).tolist() == [True, False, False, True]
    for constant in (True, False):
        rule = SMT(lambda z, y, c=constant: [c, True], space)  # type: ignore[misc]
        assert rule.feasible(z, rule.encode([0] * 4)).tolist() == [constant] * 4


def test_admissible_looks_among_the_encoded_answers() -> None:
    space = Categorical([range(3)] * 2)
    distinct = SMT(lambda z, y: z3.Distinct(*z), space)
    z = everything(space)
    with pytest.raises(ConstraintError, match="encode"):
        distinct.admissible(z)
    distinct.encode(["valid"])
    assert distinct.admissible(z).tolist() == [a != b for a, b in space.decode(z)]
    total = SMT(lambda z, y: z[0] + z[1] == y, space)
    total.encode([0, 4])
    assert total.admissible(z).tolist() == [a + b in (0, 4) for a, b in space.decode(z)]  # type: ignore[operator]


def test_undecided_points_and_bad_formulas_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    space = Categorical([range(3)])
    z = torch.zeros(1, 1, dtype=torch.long)
    bad = SMT(lambda z, y: z[0] + 1, space)
    with pytest.raises(ConstraintError, match="expected a Z3 Bool"):
        bad.feasible(z, bad.encode([0]))
    failing = SMT(lambda z, y: z[7] == y, space)
    with pytest.raises(ConstraintError, match="IndexError"):
        failing.feasible(z, failing.encode([0]))
    existential = SMT(lambda z, y: z3.Int("w") * z3.Int("w") == z[0] + y, space)
    monkeypatch.setattr(z3.Solver, "check", lambda self, *a: z3.unknown)
    with pytest.raises(ConstraintError, match="could not decide"):
        existential.feasible(z, existential.encode([2]))


def test_the_package_imports_without_z3() -> None:
    script = (
        "import sys; sys.modules['z3'] = None\n"
        "from softground.constraints.smt import SMT\n"
        "from softground.inverses.z3 import Z3\n"
        "from softground.errors import ConstraintError\n"
        "from softground.spaces import Categorical\n"
        "try: Z3(SMT(lambda z, y: True, Categorical([range(2)])))\n"
        "except ConstraintError as error: assert 'pip install z3-solver' in str(error)\n"
        "else: raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_the_cap_cuts_and_is_counted() -> None:
    space = Categorical([range(10)] * 3)
    smt = SMT(lambda z, y: z[0] + z[1] + z[2] == y, space)
    y, z = smt.encode([9, 1]), torch.zeros(2, 3, dtype=torch.long)
    sites = torch.tensor([[1, 2]] * 2)
    for table in (4096, 0):
        inverse = Z3(smt, cap=4, table=table)
        fibre = inverse.fibre(z, y, Dropped(sites))
        assert fibre.complete.tolist() == [False, True]
        assert fibre.count.tolist() == [4, 2]
        assert ragged(fibre)[0] == [(0, 9), (1, 8), (2, 7), (3, 6)]
        assert inverse.capped == 1
        assert inverse.faults["unknowns"] == 0
        exactly = Z3(smt, cap=10, table=table)
        assert exactly.fibre(z, y, Dropped(sites)).complete.all()
        assert exactly.capped == 0


def test_an_unrecognised_status_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    smt = SMT(formula_rule, Categorical([range(1, 10), "+-*/", range(1, 10)]))
    monkeypatch.setattr(z3.Solver, "check", lambda self, *a: "perhaps")
    with pytest.raises(InverseError, match="perhaps"):
        Z3(smt, table=0).fibre(torch.zeros(1, 3, dtype=torch.long), smt.encode([2]), Dropped(torch.tensor([[0, 2]])))


def test_alphabets_of_other_symbols() -> None:
    """Strings are positions; ints in any order are themselves, and fibres follow the alphabet's order."""
    space = Categorical([("red", "green"), (7, -2, 4), (1, "one")])
    smt = SMT(lambda z, y: (z[0] == 1) & (z[1] + z[2] <= y), space)
    y, sites = smt.encode([5]), torch.tensor([[2, 1]])
    z = space.encode([("green", 7, 1)])
    allowed = [(c, v) for c in (0, 1) for v, symbol in enumerate((7, -2, 4)) if symbol + c <= 5]
    for table in (4096, 0):
        assert ragged(Z3(smt, table=table).fibre(z, y, Dropped(sites))) == [allowed]


def test_formulas_with_their_own_constants_are_searched() -> None:
    space = Categorical([range(10), range(10)])
    smt = SMT(lambda z, y: [z3.Int("w") * 3 == z[0] + z[1], z[0] < y], space)
    fibre = Z3(smt).fibre(torch.zeros(1, 2, dtype=torch.long), smt.encode([2]), Dropped(torch.tensor([[0, 1]])))
    assert ragged(fibre) == [[(a, b) for a in range(2) for b in range(10) if (a + b) % 3 == 0]]


def test_a_formula_over_unknown_constants_alone_is_refused() -> None:
    space = Categorical([range(10), range(10)])
    smt = SMT(lambda z, y: z3.Int("w") == y, space)
    with pytest.raises(ConstraintError, match=r"over unknown constants alone \(w\)"):
        solutions(Z3(smt), smt.encode([2]))
    helped = SMT(lambda z, y: z3.Int("w") + z[0] == y, space)
    assert solutions(Z3(helped), helped.encode([2])).index.tolist() == list(range(100))


def test_both_keep_to_their_protocols() -> None:
    smt = SMT(formula_rule, Categorical([range(1, 10), "+-*/", range(1, 10)]))
    constraint: Constraint = smt
    inverse: Inverse = Z3(smt)
    assert constraint.answer(smt.encode([7])[0]) == 7
    assert inverse.solver_seconds == 0.0


def test_impossible_settings_are_refused() -> None:
    smt = SMT(formula_rule, Categorical([range(1, 10), "+-*/", range(1, 10)]))
    wrong: dict[str, Any] = {"cap": 0, "workers": 0, "table": -1, "timeout": 0.0}
    for name, setting in wrong.items():
        with pytest.raises(InverseError, match=name):
            Z3(smt, **{name: setting})
