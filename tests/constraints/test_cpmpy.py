"""Rules in CPMpy: feasibility by tensors is CPMpy's own, and what is no rule is refused."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from softground import Between, Categorical, Contains, CPMpy, Not, OneOf
from softground.constraints.cpmpy_tensors import Tape, variables_of
from softground.constraints.steps import run
from softground.errors import ConstraintError

cp = pytest.importorskip("cpmpy", reason="the extra rules is not installed")
from cpmpy.expressions.utils import argval, flatlist  # noqa: E402

SPACE = Categorical([range(4)] * 3)
ALL = SPACE.states(torch.arange(SPACE.size))
Rule = Callable[[Any, Any], Any]


def by_hand(rule: Rule, space: Categorical, y: Any) -> list[bool]:
    """CPMpy's own value of the rule on every state, one after the other."""
    sites = CPMpy(rule, space).sites
    parts = flatlist([rule(sites, y)])
    found = []
    for row in space.states(torch.arange(space.size)).tolist():
        for variable, alphabet, code in zip(sites, space.alphabets, row, strict=True):
            variable._value = alphabet[code] if isinstance(alphabet[code], int) else code
        found.append(all(bool(argval(part)) for part in parts))
    return found


def feasible(rule: Rule, space: Categorical, y: Any) -> list[bool]:
    stated = CPMpy(rule, space)
    states = space.states(torch.arange(space.size))
    return stated.feasible(states, stated.encode([y]).expand(len(states))).tolist()


GLOBALS: dict[str, Rule] = {
    "alldifferent": lambda z, y: cp.AllDifferent(z),
    "alldifferent_except": lambda z, y: cp.AllDifferentExceptN(z, 0),
    "allequal": lambda z, y: cp.AllEqual(z),
    "circuit": lambda z, y: cp.Circuit(z),
    "count": lambda z, y: cp.Count(z, 1) == y,
    "among": lambda z, y: cp.Among(z, [1, 2]) >= y,
    "nvalue": lambda z, y: cp.NValue(z) == y,
    "cumulative": lambda z, y: cp.Cumulative(list(z), [2, 1, 2], demand=[1, 1, 1], capacity=y),
    "no_overlap": lambda z, y: cp.NoOverlap(list(z), [1, 1, y]),
    "table": lambda z, y: cp.Table(z, [(0, 1, y), (3, 3, 3), (y, 0, 2)]),
    "negative_table": lambda z, y: cp.NegativeTable(z, [(0, 1, y), (3, 3, 3)]),
    "short_table": lambda z, y: cp.ShortTable(z, [(0, "*", y), (3, 3, "*")]),
    "inverse": lambda z, y: cp.Inverse(z, [1, 0, 2]),
    "element": lambda z, y: cp.Element([3, 1, 2], z[0]) + z[1] == y,
    "element_of_sites": lambda z, y: cp.Element(z, z[0]) == y,
    "minimum": lambda z, y: cp.Minimum(z) < cp.Maximum(z) - y + 1,
    "cardinality": lambda z, y: cp.GlobalCardinalityCount(z, [0, 3], [1, y - 1]),
    "xor": lambda z, y: cp.Xor([z[0] == 1, z[1] < y, z[2] > 0]),
    "if_then_else": lambda z, y: cp.IfThenElse(z[0] == y, z[1] == 1, z[2] == 2),
    "in_domain": lambda z, y: cp.InDomain(z[0] + z[1], [0, y, 5]),
    "increasing": lambda z, y: cp.Increasing(z),
    "strictly_decreasing": lambda z, y: cp.DecreasingStrict(z),
    "lexicographic": lambda z, y: cp.LexLess(list(z[:2]), list(z[1:])),
    "precedence": lambda z, y: cp.Precedence(z, [0, 1]),
    "regular": lambda z, y: cp.Regular(z, [("a", 0, "a"), ("a", 1, "b"), ("b", 2, "b")], "a", ["b"]),
}
OPERATORS: dict[str, Rule] = {
    "sum": lambda z, y: cp.sum(z) == y,
    "weighted": lambda z, y: 3 * z[0] - 2 * z[1] + z[2] <= y,
    "difference": lambda z, y: z[0] - z[1] >= -z[2],
    "product": lambda z, y: z[0] * z[1] != y * z[2],
    "quotient": lambda z, y: (z[0] - 2) // (z[1] - 1) == z[2] - y,
    "remainder": lambda z, y: (z[0] - 3) % (z[1] - 1) == z[2] - y,
    "not of a quotient": lambda z, y: ~(z[0] // z[1] == y),
    "power": lambda z, y: z[0] ** 2 + abs(z[1] - 3) > y,
    "logic": lambda z, y: ((z[0] == y) & (z[1] != 1)) | (z[2] < 2).implies(z[0] > z[1]),
    "sum of truths": lambda z, y: cp.sum([z[0] == 1, z[1] > 0, z[2] > 1]) == y,
    "equal truths": lambda z, y: (z[0] == y) == (z[1] == 1),
    "a list": lambda z, y: [z[0] <= z[1], [z[1] <= z[2], True], (z != y)],
    "a fraction": lambda z, y: z[0] > Fraction(3, 2),
    "too wide": lambda z, y: (z[0] + 1) * 2**61 * (z[1] + 2) > 2**62 * y,
}
ASKED = {"circuit", "inverse", "lexicographic", "regular", "a fraction", "too wide"}


def asks(rule: Rule, space: Categorical) -> bool:
    """Whether the tape asks CPMpy, state by state."""
    stated = CPMpy(rule, space)
    steps, _ = stated._tape(int(stated.encode([2])))  # type: ignore[misc]
    return any(name == "asked" for name, *_ in steps)


@pytest.mark.parametrize("name", [*GLOBALS, *OPERATORS])
def test_feasible_is_cpmpys_own_value_for_every_state(name: str) -> None:
    rule = (GLOBALS | OPERATORS)[name]
    assert asks(rule, SPACE) == (name in ASKED)
    truths = by_hand(rule, SPACE, 2)
    assert feasible(rule, SPACE, 2) == truths
    assert any(truths)
    assert not all(truths)
    assert feasible(rule, SPACE, Not(2)) == [not truth for truth in truths]


def numbers(z: Any) -> st.SearchStrategy[Any]:
    leaf = st.one_of(st.sampled_from(list(z)), st.integers(-3, 5))
    pairs = lambda inner: st.tuples(inner, inner)  # noqa: E731
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            pairs(inner).map(lambda p: p[0] + p[1]),
            pairs(inner).map(lambda p: p[0] * p[1]),
            pairs(inner).map(lambda p: cp.max([p[0] - 1, p[1]])),
            st.tuples(st.sampled_from(list(z)), inner).map(
                lambda p: p[0] // p[1] if not isinstance(p[1], int) else p[0]
            ),
            st.tuples(inner, st.sampled_from(list(z))).map(lambda p: p[0] % (p[1] - 1)),
        ),
        max_leaves=5,
    )


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_rules_are_evaluated_as_cpmpy_does(data: st.DataObject) -> None:
    z = CPMpy(lambda z, y: True, SPACE).sites
    number = numbers(z)
    compare = st.tuples(number, number, st.sampled_from(["==", "<", ">="])).map(
        lambda c: (
            cp.BoolVal(True) & {"==": z[0] + c[0] == c[1], "<": z[1] + c[0] < c[1], ">=": z[2] - c[0] >= c[1]}[c[2]]
        )
    )
    rule = data.draw(
        st.recursive(
            compare,
            lambda inner: st.one_of(
                st.tuples(inner, inner).map(lambda p: p[0] & p[1]),
                st.tuples(inner, inner).map(lambda p: p[0] | p[1]),
                st.tuples(inner, inner).map(lambda p: p[0].implies(p[1])),
                inner.map(lambda e: ~e),
            ),
            max_leaves=4,
        )
    )
    tape = Tape([rule], {variable.name: site for site, variable in enumerate(z)})
    truths = []
    for row in ALL.tolist():
        for variable, value in zip(z, row, strict=True):
            variable._value = value
        truths.append(bool(argval(rule)))
    assert run(tape.steps, ALL.unbind(1), torch.tensor(tape.constants)).tolist() == truths


def test_answers_whose_constraints_differ_in_numbers_share_their_steps() -> None:
    rule = CPMpy(lambda z, y: [cp.AllDifferent(z), z[0] + 2 * z[1] == y], SPACE)
    y = rule.encode([3, 5, 7, 4])
    assert len({id(rule._tape(i)[0]) for i in y.tolist()}) == 1  # type: ignore[index]
    states, totals = ALL.repeat_interleave(4, 0), [3, 5, 7, 4] * 64
    rows = zip(states.tolist(), totals, strict=True)
    expected = [len({a, b, c}) == 3 and a + 2 * b == total for (a, b, c), total in rows]
    assert rule.feasible(states, y.repeat(64)).tolist() == expected


def test_symbols_that_are_no_ints_are_codes_and_truths_are_boolean() -> None:
    space = Categorical(["ab", (False, True), (2, 5, 7)])

    def rule(z: Any, y: Any) -> Any:
        assert z[1].is_bool()
        assert not z[0].is_bool()
        return [z[0] == 1, z[1].implies(z[2] > y)]

    expected = [s == "b" and (not t or n > 2) for s in "ab" for t in (False, True) for n in (2, 5, 7)]
    assert feasible(rule, space, 2) == expected
    negated = lambda z, y: [~z[1], z[2] > y]  # noqa: E731
    assert feasible(negated, space, 2) == by_hand(negated, space, 2)
    assert not asks(negated, space)


def test_answers_may_be_relations() -> None:
    total = lambda z, y: cp.sum(z) == y  # noqa: E731
    sums = ALL.sum(1)
    for answer, expected in {
        OneOf(3, 5): (sums == 3) | (sums == 5),
        Not(3): sums != 3,
        Between(2, 4): (sums >= 2) & (sums <= 4),
        None: sums >= 0,
    }.items():
        assert feasible(total, SPACE, answer) == expected.tolist()
    for refused in (Between(2), Between(0, 5000), Contains(2)):
        with pytest.raises(ConstraintError, match="ranges of at most 1000"):
            feasible(total, SPACE, refused)


def test_variables_of_the_rules_own_are_existential() -> None:
    def square(z: Any, y: Any) -> Any:
        root = cp.intvar(0, 9)
        return [root * root == cp.sum(z), root <= y]

    rule = CPMpy(square, SPACE)
    y = rule.encode([2]).expand(len(ALL))
    assert not rule.evaluates(int(y[0]))
    assert rule.feasible(ALL, y).tolist() == [int(total) in (0, 1, 4) for total in ALL.sum(1)]
    for refused in (Not(2), OneOf(1, Not(2))):
        with pytest.raises(ConstraintError, match="complement"):
            rule.feasible(ALL[:1], rule.encode([refused]))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (lambda z, y: cp.intvar(0, 3, name="w") == y, "unknown variables alone \\(w\\)"),
        (lambda z, y: [z[0] == y, cp.intvar(0, 3, name="z[1]") == 1], "named like sites \\(z\\[1\\]\\)"),
        (lambda z, y: cp.Model(z[0] == y, minimize=z[1]), "objective"),
        (lambda z, y: z[0] + y, "expected a constraint"),
        (lambda z, y: None, "expected a constraint"),
        (lambda z, y: "z0 == 2", "expected a constraint"),
        (lambda z, y: z[7] == y, "IndexError"),
        (lambda z, y: z[0] == 1 if z[0] > 2 else False, "failed for the answer 2"),
    ],
)
def test_what_is_no_rule_is_refused(rule: Rule, words: str) -> None:
    with pytest.raises(ConstraintError, match=words):
        feasible(rule, SPACE, 2)


def test_a_model_without_objective_is_a_rule() -> None:
    assert feasible(lambda z, y: cp.Model(z[0] == y, z[1] < z[2]), SPACE, 2) == [
        a == 2 and b < c for a, b, c in ALL.tolist()
    ]


def test_admissible_looks_among_the_answers_so_far() -> None:
    rule = CPMpy(lambda z, y: cp.sum(z) == y, SPACE)
    with pytest.raises(ConstraintError, match="encode"):
        rule.admissible(ALL)
    rule.encode([3, 9])
    assert rule.admissible(ALL).tolist() == [int(total) in (3, 9) for total in ALL.sum(1)]


def first_sum(z: Any, y: Any) -> Any:
    return z[0] + z[1] == y


def test_a_rule_travels_to_a_worker() -> None:
    rule = CPMpy(first_sum, SPACE)
    rule.encode([3])
    rule.feasible(ALL, torch.zeros(len(ALL), dtype=torch.long))
    twin = pickle.loads(pickle.dumps(rule))
    assert twin.token == rule.token
    assert twin.feasible(ALL, twin.encode([4]).expand(len(ALL))).tolist() == (ALL[:, :2].sum(1) == 4).tolist()


def test_variables_of_one_name_are_two() -> None:
    one, other = cp.intvar(0, 1, name="v"), cp.intvar(0, 1, name="v")
    assert len(variables_of([one == 1, other + one == 1])) == 2


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cpmpy", None)
    with pytest.raises(ConstraintError, match=r"needs cpmpy, which is not installed: pip install cpmpy ortools\.$"):
        CPMpy(lambda z, y: True, SPACE)
