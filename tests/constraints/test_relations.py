"""Answers that are relations, against brute force: every rule, every inverse, and the law on complements."""

from __future__ import annotations

import copy
import math
import pickle
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from softground import SMT, Between, Categorical, Contains, Not, OneOf, Program, Scan, Task, load
from softground.constraints import Constraint
from softground.constraints.scan.tree import Tree
from softground.dice import Sampler
from softground.errors import ConstraintError, InfeasibleAnswer
from softground.inverses import Enumeration, Inverse, Listing, Scanned, Table, solutions
from softground.inverses.records import record
from softground.learner.identity import _digest, describe
from softground.projections import Dropped
from softground.target import Target

SPACE = Categorical([range(3), range(4), range(3)])
EVERYTHING = SPACE.states(torch.arange(SPACE.size))
ANSWERS = [
    3,
    None,
    OneOf(1, 2),
    Between(2, 4),
    Between(None, 0),
    Between(Fraction(5, 2)),
    Not(3),
    Not(OneOf(0, 1, 3)),
    Not(99),
    OneOf(5, Not(1)),
    Not(None),
    OneOf(None, 3),
    Not(OneOf(3, None)),
]


def value(a: int, b: int, c: int) -> int | None:
    """Not every state has an answer; a complement holds those too."""
    return a + b - c if a != c else None


def _step(state: Any, digit: int, site: int) -> Any:
    match site:
        case 0:
            return digit, digit
        case 1:
            return state[0], state[1] + digit
    return None if digit == state[0] else state[1] - digit


RULES: dict[str, Callable[[], Constraint]] = {
    "plain": lambda: Program(value, SPACE),
    "vectorised": lambda: Program(lambda a, b, c: (a + b - c, a != c), SPACE, vectorised=True, partial=True),
    "scan": lambda: Scan(_step, SPACE, start=None),
    "smt": lambda: SMT(lambda z, y: [z[0] + z[1] - z[2] == y, z[0] != z[2]], SPACE),
}


def admits(answer: Any, found: int | None) -> bool:
    match answer:
        case None:
            return True
        case Not():
            return not admits(answer.answer, found)
        case OneOf():
            return any(admits(part, found) for part in answer.answers)
        case Between():
            low, high = (-math.inf if answer.low is None else answer.low), (answer.high or 0)
            return found is not None and low <= found <= (math.inf if answer.high is None else high)
    return bool(found == answer)


TRUTH = torch.tensor([[admits(answer, value(*z)) for z in EVERYTHING.tolist()] for answer in ANSWERS])
SOME = TRUTH.any(1)


def _inverses(name: str) -> list[Inverse]:
    rule = RULES[name]()
    return [Task(SPACE, rule).inverse, Enumeration(SPACE, rule)]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("number", [0, 1])
def test_every_rule_and_inverse_knows_the_same_states(name: str, number: int) -> None:
    inverse = _inverses(name)[number]
    y = inverse.constraint.encode(ANSWERS)
    for row in range(len(ANSWERS)):
        one = y[row].expand(len(EVERYTHING))
        assert torch.equal(inverse.constraint.feasible(EVERYTHING, one), TRUTH[row]), ANSWERS[row]
        assert torch.equal(inverse.feasible(EVERYTHING, one), TRUTH[row])
    assert [inverse.constraint.answer(one) for one in y] == ANSWERS
    start = inverse.start(y.repeat(3), seed=0)
    assert torch.equal(start.found, SOME.repeat(3))
    assert bool(start.proved.all())
    rows = torch.arange(len(ANSWERS)).repeat(3)[start.found]
    assert bool(TRUTH[rows, SPACE.index(start.z[start.found])].all())
    for sites in ((0, 2), (1,), (0, 1, 2)):
        dropped = Dropped(torch.tensor([sites]).expand(len(ANSWERS), -1))
        found = inverse.fibre(start.z[: len(ANSWERS)], y, dropped)
        for row, z in enumerate(start.z[: len(ANSWERS)]):
            kept = [site for site in range(3) if site not in sites]
            own = EVERYTHING[TRUTH[row] & (EVERYTHING[:, kept] == z[kept]).all(1)]
            assert found.values[row][found.mask[row]].tolist() == own[:, list(sites)].tolist()


@pytest.mark.parametrize("name", ["plain", "vectorised"])
def test_a_table_knows_relations_beside_answers_it_has_not_seen(name: str) -> None:
    rule = RULES[name]()
    table, y = Table(rule), rule.encode([Not(3), 3])
    table.feasible(EVERYTHING[:2], y)
    late = torch.cat([y[:1], rule.encode([99, Not(98)])])
    wanted = [TRUTH[ANSWERS.index(Not(3))], torch.zeros(SPACE.size), torch.ones(SPACE.size)]
    for row, one in enumerate(late):
        together = torch.cat([late, one.expand(SPACE.size)])
        z = torch.cat([EVERYTHING[:3], EVERYTHING])
        assert torch.equal(table.feasible(z, together)[3:], wanted[row].bool())


def test_what_a_relation_is_made_of_can_be_named() -> None:
    rule = RULES["plain"]()
    (y,) = rule.encode([Not(OneOf(1, 2))])
    assert rule.answer(~y) == OneOf(1, 2)


def _listing() -> Listing:
    rule = RULES["plain"]()
    listing = Task(SPACE, rule, Listing(SPACE, EVERYTHING[TRUTH[0]])).inverse
    assert isinstance(listing, Listing)
    return listing


def test_a_listing_knows_fibres_states_and_starts_of_complements() -> None:
    inverse, answers = _listing(), [3, None, Not(3)]
    rows = [ANSWERS.index(answer) for answer in answers]
    y = inverse.constraint.encode(answers)
    start = inverse.start(y.repeat(20), seed=0)
    assert bool((start.found & start.proved).all())
    assert bool(TRUTH[torch.tensor(rows).repeat(20), SPACE.index(start.z)].all())
    assert torch.equal(start.z, inverse.start(y.repeat(20), seed=0).z)
    assert not torch.equal(start.z, inverse.start(y.repeat(20), seed=1).z)
    for place, row in enumerate(rows):
        one = y[place].expand(len(EVERYTHING))
        assert torch.equal(inverse.feasible(EVERYTHING, one), TRUTH[row])
        for sites in ((0, 2), (1,), (2, 1)):
            fibre = inverse.fibre(EVERYTHING, one, Dropped(torch.tensor([sites]).expand(len(EVERYTHING), -1)))
            kept = [site for site in range(3) if site not in sites]
            for state, values, mask in zip(EVERYTHING, fibre.values, fibre.mask, strict=True):
                own = EVERYTHING[TRUTH[row] & (EVERYTHING[:, kept] == state[kept]).all(1)]
                assert sorted(values[mask].tolist()) == sorted(own[:, list(sites)].tolist())
    assert solutions(inverse, y[:1]).count.tolist() == [int(TRUTH[0].sum())]
    assert solutions(inverse, y).count.tolist() == [3, 36, 33]  # those of 36 states that are not listed


def test_tuples_texts_and_rationals() -> None:
    pair = Categorical([range(1, 4)] * 2)
    states = pair.states(torch.arange(9))

    def held(rule: Program, answer: Any) -> list[list[int]]:
        found = rule.feasible(states, rule.encode([answer]).expand(9))
        return [list(z) for z in pair.decode(states[found])]  # type: ignore[arg-type]

    for vectorised in (False, True):
        both = Program(lambda a, b: (a, a * b), pair, vectorised=vectorised)
        assert held(both, Contains(3)) == [[1, 3], [3, 1], [3, 2], [3, 3]]
        assert held(both, Not(Contains(3))) == [[1, 1], [1, 2], [2, 1], [2, 2], [2, 3]]

    def quotient(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        common = torch.gcd(a, b)
        return a // common, b // common

    low, wanted = Fraction(2, 3), [[1, 1], [2, 2], [2, 3], [3, 3]]
    assert held(Program(quotient, pair, vectorised=True), Between(low, 1)) == wanted
    assert held(Program(lambda a, b: Fraction(a, b), pair), Between(low, 1)) == wanted
    assert held(Program(lambda a, b: "abc"[a - 1] * b, pair), Contains("bb")) == [[2, 2], [2, 3]]


@pytest.mark.parametrize("vectorised", [False, True])
@pytest.mark.parametrize("tabulated", [False, True])
def test_a_programs_own_relation(vectorised: bool, tabulated: bool) -> None:
    def near(total: Any, y: Any) -> Any:
        return (total >= y[0]) & (total <= y[1])

    pair = Categorical([range(4)] * 2)
    rule = Program(lambda a, b: a + b, pair, relation=near, vectorised=vectorised)
    inverse = Table(rule) if tabulated else Enumeration(pair, rule)
    given = [(2, 3), Not((2, 3)), OneOf((0, 0), (6, 6)), (9, 9), None]
    y, states = rule.encode(given), pair.states(torch.arange(16))
    sums = states.sum(1)
    inside = (sums >= 2) & (sums <= 3)
    expected = [inside, ~inside, (sums == 0) | (sums == 6), sums < 0, sums >= 0]
    for one, truth in zip(y, expected, strict=True):
        assert torch.equal(inverse.feasible(states, one.expand(16)), truth)
    assert inverse.start(y, 0).found.tolist() == [True, True, True, False, True]
    assert record(inverse) is None  # without the function, a model would not know the relation
    with pytest.raises(ConstraintError, match=r"Example 0: .*Between.* relation of its own"):
        rule.encode([Between(1, 2)])
    broken = Program(lambda a, b: a + b, pair, relation=lambda value, y: {}[value], vectorised=vectorised)
    with pytest.raises(ConstraintError, match=r"relation failed for the answer 3"):
        broken.feasible(states, broken.encode([3]).expand(16))
    if vectorised:
        for verdict, said in ((True, "bool"), (torch.ones(3), r"shape \(3,\)")):
            broken = Program(lambda a, b: a + b, pair, relation=lambda value, y, v=verdict: v, vectorised=True)
            with pytest.raises(ConstraintError, match=rf"returned {said}; expected a bool tensor of shape \(16,\)"):
                broken.feasible(states, broken.encode([3]).expand(16))


def test_integral_floats_and_numpy_numbers_are_answers() -> None:
    rule = RULES["plain"]()
    y = rule.encode([3, 3.0, np.float32(3), np.int64(3), torch.tensor(3.0), Fraction(3), OneOf(3.0), OneOf(np.int8(3))])
    assert y[:6].unique().tolist() == [int(y[0])]
    assert y[6] == y[7]
    for wrong in (3.5, math.nan, math.inf):
        with pytest.raises(ConstraintError, match=r"Example 1: .*float.*Fraction"):
            rule.encode([3, wrong])


@pytest.mark.parametrize(
    ("name", "answer", "message"),
    [
        ("plain", (3, 4), "a tuple of 2, where the rule gives a number"),
        ("plain", "3", "a text, where the rule gives a number"),
        ("scan", (3, 4), "a tuple of 2, where the rule gives a number"),
        ("scan", OneOf("a", "b"), "a text, where the rule gives a number"),
    ],
)
def test_a_wrong_type_is_called_a_wrong_type(name: str, answer: Any, message: str) -> None:
    task = Task(SPACE, RULES[name]())
    with pytest.raises(ConstraintError, match=re.escape(f"Example 2: the answer {answer!r} is {message}")) as error:
        task.constraint.encode([3, 99, answer])
    assert not isinstance(error.value, InfeasibleAnswer)
    assert isinstance(task.infeasible(task.constraint.encode([99]), [1]), InfeasibleAnswer)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Between(), "None"),
        (lambda: Between(3, 2), "lower bound first"),
        (lambda: Between("a", "b"), "number"),
        (lambda: OneOf(1, {}), "dict"),
        (lambda: Contains([0.5]), "Fraction"),
    ],
)
def test_relations_that_mean_nothing_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ConstraintError, match=message):
        make()


def test_scans_and_formulas_refuse_what_they_cannot_state() -> None:
    cued = Scan(lambda s, d, site, cue: s + d, SPACE, cue=lambda y, site: 0, accept=lambda s, y: s == y)
    with pytest.raises(ConstraintError, match=r"Example 1: .*OneOf\(1, 2\).*cue="):
        cued.encode([3, OneOf(1, 2)])
    y = cued.encode([3, Not(3)])
    assert torch.equal(cued.feasible(EVERYTHING, y[1].expand(36)), EVERYTHING.sum(1) != 3)
    accepting = Scan(lambda s, d: s + d, SPACE, accept=lambda s, y: s % 2 == y)
    assert accepting.feasible(EVERYTHING, accepting.encode([OneOf(0, 1)]).expand(36)).all()
    with pytest.raises(ConstraintError, match=r"Between.*accept="):
        accepting.encode([Between(1, 2)])
    rule = RULES["smt"]()
    with pytest.raises(ConstraintError, match=r"Not\(OneOf"):
        rule.feasible(EVERYTHING[:1], rule.encode([Not(Between(1, 2))]))
    with pytest.raises(ConstraintError, match="contains"):
        rule.feasible(EVERYTHING[:1], rule.encode([Contains(1)]))


def test_relations_are_plain_values() -> None:
    relation = Not(OneOf(3.0, Between(10, None), (1, 2)))
    again = Not(OneOf(np.int64(3), Between(Fraction(10)), [1, 2]))
    assert relation == again
    assert hash(relation) == hash(again)
    assert pickle.loads(pickle.dumps(relation)) == copy.deepcopy(relation) == relation
    assert _digest([relation, None]) == _digest([again, None]) != _digest([Not(OneOf(3)), None])
    assert describe(Between(1, 2)) == {"class": "Between", "low": 1, "high": 2}
    assert str(relation) == "not (3 or at least 10 or (1, 2))"


@pytest.mark.parametrize("name", ["plain", "vectorised", "scan"])
def test_a_saved_rule_takes_relations(name: str, tmp_path: Any) -> None:
    from softground import Learner
    from softground.networks import mlp

    rule = RULES[name]()
    learner = Learner(Task(SPACE, rule), mlp(3, 4), device="cpu")
    rule.encode([3, Not(1), OneOf(1, 2)])
    learner.save(tmp_path)
    loaded = load(tmp_path).task
    assert loaded is not None
    y = loaded.constraint.encode(ANSWERS)
    for row in range(len(ANSWERS)):
        assert torch.equal(loaded.feasible(EVERYTHING, y[row].expand(36)), TRUTH[row])


def test_a_scan_that_would_be_read_as_a_tree_reads_on_in_complements() -> None:
    """No two ones side by side, and none at the end: refused readings are in the complement."""
    space = Categorical([range(2)] * 9)

    scan = Scan(lambda last, bit: None if bit and last else bit, space)
    scan.encode([0])
    assert isinstance(scan.tables(torch.device("cpu")).recursion, Tree)
    y = scan.encode([0, Not(0), None])
    states = space.states(torch.arange(512))
    fine = (states[:, 1:] * states[:, :-1] == 0).all(1) & (states[:, -1] == 0)
    belief = space.belief(torch.randn(3, 9, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    mass = Scanned(scan).law(Target(belief, y, 1.0)).log_mass().exp()
    expected = belief.rows(torch.zeros(512, dtype=torch.long)).log_prob(states)[fine].exp().sum()
    other = belief.rows(torch.ones(512, dtype=torch.long)).log_prob(states)[~fine].exp().sum()
    assert torch.allclose(mass, torch.stack([expected, other, torch.ones(()).double()]), atol=1e-9)
    uniform = space.uniform(200, y.device)
    drawn = Scanned(scan).law(Target(uniform, y[1].expand(200), 1.0)).draw(Sampler(0))
    assert not bool(fine[space.index(drawn)].any())
