"""Z3 on rules in CPMpy: the fibres, first states and lists of CP-SAT."""

from __future__ import annotations

import pickle
from typing import Any

import cpmpy as cp
import pytest
import torch

import softground as sg
from softground.constraints.translated import Translated, in_z3
from softground.errors import ConstraintError, InverseError
from softground.inverses import CPSAT, Z3

DIGITS = sg.Categorical([(2, 3, 5, 7)] * 4)  # an alphabet with gaps
SWITCHES = sg.Categorical([(False, True)] * 4)
LETTERS = sg.Categorical(["abc"] * 4)


def carried(z: Any, y: Any) -> list[Any]:
    carry = cp.intvar(0, 1)
    return [z[0] + z[1] == z[2] + 10 * carry, z[3] >= y]


RULES: dict[str, tuple[sg.Categorical, Any, list[Any]]] = {
    "different, sum": (DIGITS, lambda z, y: [cp.AllDifferent(z), cp.sum(z) == y], [17]),
    "table, count": (LETTERS, lambda z, y: [cp.Table(z[:2], [[0, 1], [1, 2], [2, 2]]), cp.Count(z, 2) == y], [1, 2]),
    "switches": (SWITCHES, lambda z, y: [z[0].implies(z[1] | z[2]), cp.sum(z) == y], [2, 3]),
    "a variable of its own": (DIGITS, carried, [3, 5]),
    "nothing": (DIGITS, lambda z, y: [z[0] != z[0]], [1]),
}


@pytest.mark.parametrize("name", RULES)
def test_fibres_starts_and_lists_are_those_of_cp_sat(name: str) -> None:
    space, rule, answers = RULES[name]
    constraint = sg.CPMpy(rule, space)
    y, z = constraint.encode(answers), torch.tensor([[0, 1, 2, 1], [1, 1, 0, 0], [2, 0, 1, 1]]) % space.width
    by_z3, by_cpsat = Z3(constraint, table=0), CPSAT(constraint, table=0)
    assert by_z3.constraint is constraint
    for answer in y:
        for sites in ([0, 1], [1, 2, 3]):
            asked = z, answer.expand(3), sg.Dropped(torch.tensor(sites).expand(3, -1))
            one, other = by_z3.fibre(*asked), by_cpsat.fibre(*asked)
            assert one.values[one.mask].tolist() == other.values[other.mask].tolist()
            assert one.complete.all()
        (listed, end), (expected, _) = by_z3.listed([int(answer)])[0], by_cpsat.listed([int(answer)])[0]
        assert (end, listed.tolist()) == ("whole", expected.tolist())
        start = by_z3.start(answer.expand(2), 0)
        assert start.found.tolist() == [len(expected) > 0] * 2
        assert constraint.feasible(start.z, answer.expand(2))[start.found].all()


def test_tables_and_workers_change_nothing() -> None:
    space, rule, answers = RULES["different, sum"]
    constraint = sg.CPMpy(rule, space)
    y, dropped = constraint.encode(answers).expand(3), sg.Dropped(torch.tensor([[0, 1]] * 3))
    z = torch.tensor([[0, 0, 1, 2], [0, 0, 3, 2], [0, 0, 0, 1]])
    found = [Z3(constraint, **given).fibre(z, y, dropped) for given in ({}, {"table": 0}, {"workers": 2, "table": 0})]
    assert len({str(one.values[one.mask].tolist()) for one in found}) == 1
    assert found[0].count.sum() > 0


def test_a_translation_travels_by_its_rule_alone() -> None:
    space = sg.Categorical([range(3)] * 2)
    formula = in_z3(sg.CPMpy(Equal(), space))
    assert formula.feasible(torch.tensor([[1, 1], [1, 2]]), formula.encode([True, True])).tolist() == [True, False]
    again = pickle.loads(pickle.dumps(formula))  # as a worker process gets it
    assert isinstance(again.formula, Translated)
    assert not again.formula._said
    assert again.expression(True, (1, 2)).sexpr() == formula.expression(True, (1, 2)).sexpr()


class Equal:
    def __call__(self, z: Any, y: Any) -> Any:
        return (z[0] == z[1]) == y


def test_what_cannot_be_stated_is_refused() -> None:
    space, rule, _ = RULES["a variable of its own"]
    constraint = sg.CPMpy(rule, space)
    with pytest.raises(ConstraintError, match="complement"):
        Z3(constraint, table=0).solutions(constraint.encode([sg.Not(3)]))
    with pytest.raises(InverseError, match=r"expected sg.SMT\(…\) or sg.CPMpy\(…\)"):
        Z3(sg.Program(lambda a, b: a + b, sg.Categorical([range(2)] * 2)))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="wrkers"):
        Z3(constraint, wrkers=2)
