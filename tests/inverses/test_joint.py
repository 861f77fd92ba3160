"""Whether parts can hold together: by brute force, for every kind of piece and every kind of rule."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import cpmpy as cp
import pytest
import torch
import z3
from ortools.sat.python import cp_model

import softground as sg
from softground.constraints.smt import in_formula, left_out
from softground.inverses import Inverse, Lists
from softground.inverses.joint import together

SPACE = sg.Categorical([range(3), range(3), (0, 2, 5), range(3)])
WORDS = sg.Categorical([("a", "b", "c"), ("b", "c", "d"), ("a", "d", "c")])
LINES = [[0, 1], [2, 3], [0, 2], [1, 3]]
PIECES: list[tuple[Any, sg.Categorical, list[Any]]] = [
    (sg.Sum([0, 2, 3]), SPACE, [0, 7, 99, None, sg.Between(4, 6), sg.Not(3), sg.OneOf(1, sg.Between(8))]),
    (sg.Count([0, 2, 3], {0, 5}), SPACE, [0, 2, sg.Between(Fraction(3, 2)), sg.Not(sg.OneOf(0, 3)), None]),
    (sg.Value([3, 0], lambda a, b: (a - b) ** 2), SPACE, [0, 1, 4, 3, sg.Not(1)]),
    (sg.AllDifferent([3, 1, 0]), SPACE, [True]),
    (sg.AllDifferent([0, 1, 2]), WORDS, [True]),
    (sg.Increasing([1, 2, 3]), SPACE, [True]),
    (sg.Increasing([0, 1, 2], strict=False), WORDS, [True]),
    (sg.Count([0, 1, 2], "cd"), WORDS, [1, 3, sg.Between(None, 1)]),
    (sg.Allowed([2, 0], [(5, 1), (0, 0)]), SPACE, [True]),
    (sg.Clause({2: 5, 0: 1}), SPACE, [True]),
    (sg.Clause({2: "d", 0: "c"}), WORDS, [True]),
]


def everything(space: sg.Categorical) -> torch.Tensor:
    return space.states(torch.arange(space.size))


@pytest.mark.parametrize("case", range(len(PIECES)))
def test_a_formula_says_what_its_piece_says(case: int) -> None:
    piece, space, answers = PIECES[case]
    rule = sg.All([piece], space)
    formula, states = in_formula(rule), everything(space)
    for y in rule.encode(answers):
        expected = rule.feasible(states, y.expand(len(states)))
        assert torch.equal(formula.feasible(states, y.expand(len(states))), expected)
    assert not left_out(rule)


def rules() -> list[tuple[Any, Inverse]]:
    """2×2 symbols with the sums of rows and columns, in three languages."""
    parts = sg.All([sg.Sum(line) for line in LINES], SPACE)
    smt = sg.SMT(lambda z, y: [z[a] + z[b] == t for (a, b), t in zip(LINES, y, strict=True)], SPACE)
    model = sg.CPMpy(lambda z, y: [z[a] + z[b] == t for (a, b), t in zip(LINES, y, strict=True)], SPACE)
    return [
        (parts, sg.inverses.Enumeration(SPACE, parts)),
        (smt, sg.inverses.Z3(smt)),
        (model, sg.inverses.CPSAT(model)),
    ]


@pytest.mark.parametrize("case", range(3), ids=["All", "SMT", "CPMpy"])
def test_answers_that_contradict_themselves_are_those_of_brute_force(case: int) -> None:
    rule, inverse = rules()[case]
    answers = torch.randint(5, (60, 4), generator=torch.Generator().manual_seed(0))
    states, y = everything(SPACE), rule.encode([*map(tuple, answers.tolist())])
    expected = torch.stack([~rule.feasible(states, i.expand(len(states))).any() for i in y])
    empty, undecided = together(rule, inverse, y)
    assert torch.equal(empty, expected)
    assert 0 < int(empty.sum()) < len(y)
    assert not bool(undecided.any())


@pytest.mark.parametrize("case", range(3), ids=["All", "SMT", "CPMpy"])
def test_known_symbols_count(case: int) -> None:
    rule, inverse = rules()[case]
    y = rule.encode([(2, 2, 2, 2)] * 4)  # (0, 2, 2, 0) and (2, 0, 0, 2)
    known = torch.tensor([[-1, -1, -1, -1], [0, 2, -1, -1], [1, -1, -1, -1], [0, 2, 1, 1]])
    assert together(rule, inverse, y, known)[0].tolist() == [False, False, True, True]


def test_the_law_of_the_whole_needs_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sg.inverses.Z3, "empty", None)
    rule = rules()[0][0]
    y = rule.encode([(2, 2, 2, 2), (2, 2, 2, 3)])
    inverse = Lists.of(sg.inverses.Enumeration(SPACE, rule), y)
    assert [found.tolist() for found in together(rule, inverse, y)] == [[False, True], [False, False]]
    known = torch.tensor([[1, -1, -1, -1], [-1] * 4])
    assert together(rule, inverse, y, known)[0].tolist() == [True, True]


def test_clauses_are_asked_too() -> None:
    every = [[a, b, c] for a in (1, -1) for b in (2, -2) for c in (3, -3)]
    for clauses, expected in ((every, True), (every[1:], False)):
        rule = sg.Cnf(clauses)
        inverse = sg.inverses.Enumeration(rule.space, rule)
        assert together(rule, inverse, rule.encode([True]))[0].tolist() == [expected]


def test_what_was_not_decided_is_not_called_empty() -> None:
    rule, inverse = rules()[0]
    y = rule.encode([(1, 1, 1, 1), (1, 2, 2, 2)])  # the totals of the second differ
    for seconds, decided in ((10.0, True), (-1.0, False)):  # which have passed already
        empty, undecided = together(rule, inverse, y, seconds=seconds)
        assert empty.tolist() == [False, decided]
        assert undecided.tolist() == [not decided] * 2


def test_a_part_that_is_too_large_to_say_proves_what_the_others_prove() -> None:
    space = sg.Categorical([range(10)] * 5)
    rule = sg.All([sg.Value(range(5), lambda *z: z[0], answer=3), sg.Sum([0, 1]), sg.Sum([0, 1, 2])], space)
    assert len(left_out(rule)) == 1
    empty, undecided = together(rule, sg.inverses.Enumeration(space, rule), rule.encode([(9, 8), (8, 9)]))
    assert empty.tolist() == [True, False]
    assert undecided.tolist() == [False, True]  # it may contradict the part that was left out


def test_cp_sat_sees_sums_that_contradict_each_other_with_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search alone does not end within the quarter that it may take; a linear program sees it at once."""
    space = sg.Categorical([range(10)] * 20)
    lines = [list(range(5 * i, 5 * i + 5)) for i in range(4)] + [list(range(i, 20, 5)) for i in range(5)]
    rule = sg.CPMpy(lambda z, y: [cp.sum([z[i] for i in line]) == y[k] for k, line in enumerate(lines)], space)
    work: list[float] = []

    class Counting(cp_model.CpSolver):  # type: ignore[misc]
        def solve(self, *given: Any) -> Any:
            status = super().solve(*given)
            work.append(self.response_proto.deterministic_time)
            return status

    monkeypatch.setattr(cp_model, "CpSolver", Counting)
    inverse = sg.inverses.CPSAT(rule, work=8.0)
    y = rule.encode([(20, 20, 20, 21, *[16] * 5), (20, 20, 20, 20, *[16] * 5)])
    assert [inverse.empty(i, (-1,) * 20) for i in y.tolist()] == [True, False]
    assert 0 < sum(work) < 0.1


def test_a_solver_that_gives_up_decides_nothing() -> None:
    hard = sg.SMT(lambda z, y: z3.Int("n") ** 3 + z3.Int("m") ** 3 + z[0] == 42 + y, SPACE)
    assert sg.inverses.Z3(hard, rlimit=1000, table=0).empty(int(hard.encode([0])), (-1,) * 4) is None
