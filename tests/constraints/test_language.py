"""Parts of rules in CPMpy and Z3: together they are the rule, and each touches the sites it should."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from softground import SMT, Between, Categorical, CPMpy, Not, OneOf, Scan
from softground.constraints import Part, language
from softground.constraints.language import LanguageRule
from softground.inverses.composite import composite

cp = pytest.importorskip("cpmpy", reason="the extra rules is not installed")
z3 = pytest.importorskip("z3", reason="z3-solver is not installed")

SPACE = Categorical([range(4), range(4), (1, 3, 5), range(4)])
ALL = SPACE.states(torch.arange(SPACE.size))


def together(rule: LanguageRule, answers: list[Any]) -> list[Part]:
    """The parts, seen to be the rule for every state and answer."""
    y = rule.encode(answers)
    parts = list(rule.parts())
    for i in y:
        same = i.expand(len(ALL))
        each = [part.rule.feasible(ALL[:, list(part.sites)], part.answers(same)) for part in parts]
        assert torch.equal(torch.stack(each).all(0), rule.feasible(ALL, same))
    return parts


def test_a_cpmpy_conjunction_falls_apart() -> None:
    rule = CPMpy(lambda z, y: [z[0] + z[1] == y, cp.AllDifferent(z[1:]) & (z[0] * z[3] < 4), z[2] != y], SPACE)
    parts = together(rule, [3, 4, 1])
    assert {part.sites for part in parts} == {(0, 1), (1, 2, 3), (0, 3), (2,)}
    kinds = {part.sites: type(part.rule) for part in parts}
    assert kinds == {(0, 1): Scan, (1, 2, 3): Scan, (0, 3): CPMpy, (2,): CPMpy}


@pytest.mark.parametrize("compare", ["__eq__", "__le__", "__lt__", "__ge__", "__gt__", "__ne__"])
def test_sums_are_compared_in_every_way(compare: str) -> None:
    rule = CPMpy(lambda z, y: [getattr(cp.sum(z[:3]), compare)(y), z[3] * z[0] == 1], SPACE)
    assert {type(part.rule) for part in together(rule, [4, 7])} == {Scan, CPMpy}
    for total in (z3.Sum, sum, lambda z: z[0] + 2 + (z[1] + z[2]) - 2 + 0):
        formula = SMT(lambda z, y, total=total: [getattr(total(z[:3]), compare)(y), z[3] * z[0] == 1], SPACE)
        kinds = {part.sites: type(part.rule) for part in together(formula, [4, 7])}
        assert kinds == {(0, 1, 2): Scan if total in (z3.Sum, sum) else SMT, (0, 3): SMT}
        numeral = SMT(lambda z, y: [getattr(z3.IntVal(y), compare)(z3.Sum(z[:3])), z[3] * z[0] == 1], SPACE)
        assert {type(part.rule) for part in together(numeral, [4, 7])} == {Scan, SMT}


def test_usual_parts_of_z3_rules_need_no_table() -> None:
    """A row of five digits has 100,000 states, and ten that differ 10¹⁰."""
    space = Categorical([range(10)] * 15)
    rule = SMT(lambda z, y: [z3.Sum(z[:5]) == y, sum(z[::3]) <= y, z3.Distinct(z[5:])], space)
    rule.encode([20])
    assert {part.sites: type(part.rule) for part in rule.parts()} == {
        (0, 1, 2, 3, 4): Scan,
        (0, 3, 6, 9, 12): Scan,
        tuple(range(5, 15)): Scan,
    }
    assert composite(rule).exact


def test_a_z3_conjunction_falls_apart() -> None:
    rule = SMT(lambda z, y: [z[0] + z[1] == y, z3.And(z[1] != z[2], z3.And(z[3] > 0, z[0] * z[3] < 4))], SPACE)
    assert {part.sites for part in together(rule, [3, 4])} == {(0, 1), (1, 2), (3,), (0, 3)}


def test_answers_may_have_other_parts() -> None:
    cages = {0: [(0, 1), (2, 3)], 1: [(0, 2), (1, 3)], 2: [(0, 1, 2, 3)]}
    rule = CPMpy(lambda z, y: [z[list(cage)].sum() == 4 for cage in cages[y]], SPACE)
    parts = together(rule, [0, 1, 2])
    assert {part.sites for part in parts} == {(0, 1), (2, 3), (0, 2), (1, 3), (0, 1, 2, 3)}
    assert len({id(part.rule) for part in parts}) == 4  # (0, 1) and (1, 3) have the same alphabets


def test_what_is_said_of_the_same_sites_is_one_part_where_that_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    def rule(z: Any, y: Any) -> Any:
        return [z[0] + z[1] == y, z[0] != z[1], cp.AllDifferent(z[:2]), z[2] > 1]

    assert len(together(CPMpy(rule, SPACE), [3])) == 2
    monkeypatch.setattr(language, "TOGETHER", 10)
    assert len(together(CPMpy(rule, SPACE), [3])) == 4


def test_conjuncts_with_a_common_helper_stay_together() -> None:
    def rule(z: Any, y: Any) -> Any:
        helper, other = cp.intvar(0, 9), cp.intvar(0, 9)
        return [helper == z[0] + y, helper <= z[1] + 2, z[2] > y, other == z[3], other > 0]

    assert {part.sites for part in together(CPMpy(rule, SPACE), [1])} == {(0, 1), (2,), (3,)}

    def formula(z: Any, y: Any) -> Any:
        helper = z3.Int("helper")
        return [helper == z[0] + y, helper <= z[1] + 2, z[2] > y]

    assert {part.sites for part in together(SMT(formula, SPACE), [1])} == {(0, 1), (2,)}


def test_relations_and_constants_have_parts_too() -> None:
    def rule(z: Any, y: Any) -> Any:
        return [z[0] + z[1] == y, z[2] < 5, y < 5]

    assert (0, 1) in {part.sites for part in together(CPMpy(rule, SPACE), [3, 6, OneOf(2, 3), Not(3), None])}
    formula = SMT(lambda z, y: z3.And(*rule(z, y)), SPACE)
    assert (2,) in {part.sites for part in together(formula, [3, 6, Between(2, 3)])}


def test_a_rule_that_is_no_conjunction_has_no_parts() -> None:
    rule = CPMpy(lambda z, y: [cp.sum(z) == y, cp.AllDifferent(z)], SPACE)
    assert rule.parts() == []
    rule.encode([5])
    assert rule.parts() == []


def test_answers_that_come_later_are_understood() -> None:
    rule = CPMpy(lambda z, y: [z[0] + z[1] == y, z[2] + z[3] == y], SPACE)
    rule.encode([3])
    parts, later = rule.parts(), rule.encode([4]).expand(len(ALL))
    each = [part.rule.feasible(ALL[:, list(part.sites)], part.answers(later)) for part in parts]
    assert torch.equal(torch.stack(each).all(0), rule.feasible(ALL, later))
