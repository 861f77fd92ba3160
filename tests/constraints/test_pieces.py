"""Rules of parts: what is feasible, what their answers are, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import softground as sg
from softground.errors import ConstraintError, SpaceError

SPACE = sg.Categorical([range(4)] * 4)
STATES = SPACE.states(torch.arange(SPACE.size))
A, B, C, D = STATES.T
PIECES: dict[str, tuple[Any, Any, torch.Tensor]] = {  # a piece, its answer, and where it holds
    "sum": (sg.Sum([0, 2, 3]), 5, A + C + D == 5),
    "range": (sg.Sum([0, 2]), sg.Between(3, 4), (A + C >= 3) & (A + C <= 4)),
    "count": (sg.Count([1, 2, 3], {0, 3}), 2, torch.stack([(x == 0) | (x == 3) for x in (B, C, D)]).sum(0) == 2),
    "value": (sg.Value([3, 1], lambda d, b: d - b), -1, D - B == -1),
    "all different": (sg.AllDifferent([0, 1, 3]), True, (A != B) & (B != D) & (A != D)),
    "increasing": (sg.Increasing([2, 0, 1]), True, (C < A) & (A < B)),
    "not decreasing": (sg.Increasing([0, 1, 2], strict=False), True, (A <= B) & (B <= C)),
    "allowed": (sg.Allowed([3, 0], [(1, 2), (0, 0), (3, 3)]), True, ((D == 1) & (A == 2)) | ((D == A) & (A % 3 == 0))),
    "clause": (sg.Clause({1: 2, 3: 0}), True, (B == 2) | (D == 0)),
}


def answers(*names: str) -> Any:
    """The whole answer of these pieces: one entry for each that has one of its own."""
    own = [PIECES[name][1] for name in names if PIECES[name][1] is not True]
    return True if not own else own[0] if len(own) == 1 else tuple(own)


@pytest.mark.parametrize(
    "names",
    [*((name,) for name in PIECES), ("sum", "clause", "count"), tuple(PIECES)],
    ids=lambda names: "+".join(names),
)
def test_a_state_is_feasible_where_every_part_holds(names: tuple[str, ...]) -> None:
    rule = sg.All([PIECES[name][0] for name in names], SPACE)
    y = rule.encode([answers(*names)] * len(STATES))
    holds = torch.stack([PIECES[name][2] for name in names])
    assert torch.equal(rule.feasible(STATES, y), holds.all(0))
    for part, own in zip(rule.parts(), holds, strict=True):
        assert torch.equal(part.rule.feasible(STATES[:, part.sites], part.answers(y)), own)
    assert rule.answer(y[0]) == answers(*names)


def test_answers_are_computed_where_no_part_reads_the_whole_answer() -> None:
    rule = sg.All([sg.Sum([0, 1]), sg.AllDifferent([0, 1]), sg.Sum([2, 3])], SPACE)
    assert rule.compute(torch.tensor([[0, 1, 3, 3], [1, 1, 0, 0]])) == [(1, 6), None]
    assert sg.All([sg.AllDifferent([0, 1])], SPACE).compute(torch.tensor([[0, 1, 3, 3], [1, 1, 0, 0]])) == [True, None]
    with pytest.raises(ConstraintError, match="does not compute"):
        sg.All([sg.Sum([0, 1], answer=lambda y: y["a"])], SPACE).compute(STATES)


def test_parts_of_a_kind_over_equal_alphabets_have_one_rule() -> None:
    space = sg.Categorical([range(4)] * 4 + [range(5)] * 2)
    pieces = [sg.Sum([0, 1]), sg.Sum([3, 2]), sg.Sum([4, 5]), sg.Count([0, 1], {1}), sg.Count([2, 3], {2})]
    assert len({part.rule for part in sg.All(pieces, space).parts()}) == 4


def test_whole_numbers_add_up_by_tensors_and_a_value_does_where_it_says_so() -> None:
    pair = sg.Categorical([range(4)] * 2)
    assert sg.Sum([0, 1]).rule(pair).vectorised
    assert not sg.Sum([0, 1]).rule(sg.Categorical([range(-1, 4)] * 2)).vectorised
    for vectorised in (False, True):
        assert sg.Value([0, 1], lambda a, b: a * b, vectorised=vectorised).rule(pair).vectorised is vectorised


def test_what_is_not_known_and_what_is_fixed() -> None:
    rule = sg.All([sg.Sum([0, 1]), sg.Sum([2, 3], answer=4), sg.Sum([0, 2])], SPACE)
    y = rule.encode([None, (None, 3), (2, sg.Not(3))])
    assert torch.equal(rule.feasible(STATES, y[:1].expand(len(STATES))), C + D == 4)
    assert torch.equal(rule.feasible(STATES, y[1:2].expand(len(STATES))), (C + D == 4) & (A + C == 3))
    assert torch.equal(rule.feasible(STATES, y[2:].expand(len(STATES))), (A + B == 2) & (C + D == 4) & (A + C != 3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: [], "at least one part"),
        (lambda: [sg.Sum([])], "each once"),
        (lambda: [sg.Sum([0, 6])], "Sum of the sites 0, 6 .* sites 0 … 5"),
        (lambda: [sg.AllDifferent([1, 1])], "AllDifferent of the sites 1, 1 .* each once"),
        (lambda: [sg.AllDifferent(range(5))], "5 sites cannot all differ"),
        (lambda: [sg.Sum([0, 5])], "'x'; expected whole numbers"),
        (lambda: [sg.Sum([0]), sg.Sum([1], answer=lambda y: y)], "in each of them, or in none"),
    ],
)
def test_parts_that_cannot_be(make: Any, message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        sg.All(make(), sg.Categorical([range(4)] * 5 + ["xy"]))


@pytest.mark.parametrize("piece", [sg.Allowed([0, 1], [(0, 9)]), sg.Clause({2: 7})])
def test_symbols_that_no_site_shows(piece: Any) -> None:
    with pytest.raises(SpaceError, match="alphabet"):
        sg.All([piece], SPACE)


@pytest.mark.parametrize(
    ("pieces", "answer", "message"),
    [
        (
            [sg.Sum([0]), sg.Sum([1])],
            (1,),
            "Example 1: .*expected 2 entries, one for each of the parts: Sum of the sites 0",
        ),
        ([sg.Sum([0]), sg.Sum([1])], 3, "expected 2 entries"),
        ([sg.Sum([0]), sg.Sum([1])], sg.OneOf(1, 2), "expected 2 entries"),
        ([sg.Sum([0]), sg.Sum([1])], (1, 0.5), "Example 1: Sum of the sites 1: .*is a float"),
        (
            [sg.Sum([0], answer=lambda y: y[2])],
            (1, 2),
            "does not suit the answer= of the Sum of the sites 0: IndexError",
        ),
        (
            [sg.Sum([0], answer=lambda y: y)],
            sg.Not(3),
            "computes its own part of the answer; expected an answer, or None",
        ),
        ([sg.AllDifferent([0, 1])], 3, "give True"),
    ],
)
def test_answers_that_lack_something(pieces: Any, answer: Any, message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        sg.All(pieces, SPACE).encode([None, answer])


@pytest.mark.parametrize("answer", [(3, "x"), (3, (4,))])
def test_an_entry_of_the_wrong_type_is_said_to_be_so(answer: Any) -> None:
    rule = sg.All([sg.Sum([0, 1]), sg.Sum([1, 2])], SPACE)
    with pytest.raises(ConstraintError, match=r"Sum of the sites 1, 2: the answer .*, where the rule gives a number"):
        rule.encode([answer])
