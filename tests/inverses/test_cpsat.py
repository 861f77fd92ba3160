"""The inverse by CP-SAT: fibres, lists and first states are those of enumeration, and limits give 'unknown'."""

from __future__ import annotations

import random
import sys
from typing import Any

import pytest
import torch

from softground import Categorical, CPMpy, Program, Task
from softground.errors import ConstraintError, InverseError
from softground.inverses import CPSAT, Z3, Enumeration, solutions
from softground.inverses.base import start_given
from softground.projections import Dropped
from softground.solver.cpsat import CPSATEngine
from softground.solver.engine import FibreQuery, Limits, StartQuery

cp = pytest.importorskip("cpmpy", reason="the extra rules is not installed")
pytest.importorskip("ortools", reason="the extra rules is not installed")

SPACE = Categorical([range(4), (2, 3, 7), range(-1, 2), range(4)])
ALL = SPACE.states(torch.arange(SPACE.size))


def random_rule(seed: int) -> CPMpy:
    """A few random linear inequalities, products and groups, some under a condition."""
    chance = random.Random(seed)
    kinds = [chance.randrange(4) for _ in range(chance.randint(1, 3))]
    sites = [chance.sample(range(4), chance.randint(2, 4)) for _ in kinds]
    weights = [[chance.randint(-2, 2) for _ in some] for some in sites]

    def rule(z: Any, y: Any) -> Any:
        parts = []
        for kind, some, weight in zip(kinds, sites, weights, strict=True):
            total = cp.sum([w * z[i] for w, i in zip(weight, some, strict=True)])
            either = (z[some[0]] * z[some[1]] != y) | (total > 0)
            parts.append([total <= y, cp.AllDifferent(z[some]), either, cp.max(z[some]) > y][kind])
        return parts

    return CPMpy(rule, SPACE)


def same(left: Any, right: Any) -> bool:
    rows = [[v[m].tolist() for v, m in zip(f.values, f.mask, strict=True)] for f in (left, right)]
    return rows[0] == rows[1] and bool(left.complete.all()) and bool(right.complete.all())


@pytest.mark.parametrize("seed", range(8))
def test_fibres_equal_enumeration(seed: int) -> None:
    rule = random_rule(seed)
    y = rule.encode([0, 2, 3])[torch.randint(3, (40,), generator=torch.Generator().manual_seed(seed))]
    z = ALL[torch.randperm(len(ALL), generator=torch.Generator().manual_seed(seed))[:40]]
    for sites in ([0], [1, 3], [2, 0, 3], [0, 1, 2, 3]):
        dropped = Dropped(torch.tensor([sites]).expand(len(z), -1), shared=True)
        expected = Enumeration(SPACE, rule).fibre(z, y, dropped)
        assert same(CPSAT(rule, table=0, cap=200).fibre(z, y, dropped), expected)
        assert same(CPSAT(rule).fibre(z, y, dropped), expected)


def test_a_capped_fibre_holds_the_first_completions_and_says_so() -> None:
    rule = random_rule(1)
    everything = Dropped(torch.arange(4)[None], shared=True)
    y = rule.encode([2])
    whole = Enumeration(SPACE, rule).fibre(ALL[:1], y, everything)
    inverse = CPSAT(rule, table=0, cap=7)
    fibre = inverse.fibre(ALL[:1], y, everything)
    assert not fibre.complete.any()
    assert inverse.capped == 1
    assert fibre.values[fibre.mask].tolist() == whole.values[whole.mask][:7].tolist()


def hidden(z: Any, y: Any) -> Any:
    """Some pair of helpers adds up to what the sites do: many pairs for each state."""
    a, b = cp.intvar(0, 40, shape=2)
    return [a + b == cp.sum(z) + 30, z[0] + z[3] == y]


def test_helping_variables_with_many_values_do_not_repeat_completions() -> None:
    rule = CPMpy(hidden, SPACE)
    y, everything = rule.encode([3]), Dropped(torch.arange(4)[None], shared=True)
    expected = ALL[ALL[:, 0] + ALL[:, 3] == 3].tolist()
    inverse = CPSAT(rule, cap=100)
    fibre = inverse.fibre(ALL[:1], y, everything)
    assert fibre.values[fibre.mask].tolist() == expected
    assert fibre.complete.all()
    capped = CPSAT(rule, cap=5).fibre(ALL[:1], y, everything)
    assert capped.values[capped.mask].tolist() == expected[:5]
    assert inverse.feasible(ALL[:12], y.expand(12)).tolist() == [state.tolist() in expected for state in ALL[:12]]


def test_two_workers_find_what_one_finds() -> None:
    rule = random_rule(3)
    y, z = rule.encode([0, 2]).repeat(20), ALL[:40]
    dropped = Dropped(torch.tensor([[0, 3]]).expand(40, -1), shared=True)
    together = CPSAT(rule, table=0, workers=2)
    assert same(CPSAT(rule, table=0).fibre(z, y, dropped), together.fibre(z, y, dropped))
    assert CPSAT(rule).start(y, 5).z.tolist() == together.start(y, 5).z.tolist()


def test_starts_are_feasible_different_and_proved() -> None:
    space = Categorical([range(10)] * 6)
    rule = CPMpy(lambda z, y: [cp.AllDifferent(z), cp.sum(z) == y], space)
    y = rule.encode([20] * 30 + [14, 40])
    start = CPSAT(rule).start(y, 0)
    assert start.found.tolist() == [True] * 30 + [False, False]
    assert start.proved.all()
    assert rule.feasible(start.z[:30], y[:30]).all()
    assert len(start.z[:30].unique(dim=0)) > 20
    assert start.z.tolist() == CPSAT(rule).start(y, 0).z.tolist()
    assert start.z.tolist() != CPSAT(rule).start(y, 1).z.tolist()
    known = torch.full((30, 6), -1)
    known[:, 2] = torch.arange(30) % 6
    given = start_given(CPSAT(rule), y[:30], 0, known)
    assert given.found.all()
    assert (given.z[:, 2] == known[:, 2]).all()
    assert rule.feasible(given.z, y[:30]).all()


@pytest.mark.parametrize("table", [0, 4096])
def test_lists_are_whole_capped_or_unknown(table: int) -> None:
    rule = random_rule(2)
    ids = rule.encode([0, 2, 3]).tolist()
    expected = [ALL[rule.feasible(ALL, torch.full((len(ALL),), i))] for i in ids]
    for (states, end), whole in zip(CPSAT(rule, table=table).listed(ids), expected, strict=True):
        assert end == "whole"
        assert states.tolist() == whole.tolist()
    (states, end), *_ = CPSAT(rule, table=table, solutions_cap=5).listed(ids[1:])
    assert end == "capped"
    assert len(states) == 5
    assert rule.feasible(states, torch.full((5,), ids[1])).all()
    with pytest.raises(InverseError, match="more than solutions_cap=5"):
        solutions(CPSAT(rule, table=table, solutions_cap=5), torch.tensor(ids[1:]))


def factors(z: Any, y: Any) -> Any:
    """Two factors of a number, digit by digit: a prime has none, which takes long to prove."""
    left, right = (cp.sum([10**i * digit for i, digit in enumerate(part)]) for part in (z[:7], z[7:]))
    return [left * right == y, left > 1, right > 1]


def test_a_limit_gives_unknown_and_not_a_wrong_answer() -> None:
    space = Categorical([range(10)] * 14)
    rule = CPMpy(factors, space)
    everything, y = Dropped(torch.arange(14)[None], shared=True), rule.encode([29_999_999_999_987])
    for settings in ({"timeout": 0.05}, {"work": 0.01}, {"limit": 0.1}):
        inverse = CPSAT(rule, table=0, **settings)  # type: ignore[arg-type]
        fibre = inverse.fibre(torch.zeros(1, 14, dtype=torch.long), y, everything)
        assert not fibre.complete.any()
        assert not fibre.mask.any()
        assert inverse.faults["unknowns"] == 1
        assert inverse.faults["timeouts"] == int("work" not in settings)
    start = inverse.start(y, 0)
    assert not start.found.any()
    assert not start.proved.any()
    assert inverse.listed(y.tolist())[0][1] == "timeout"


def test_a_rule_that_cannot_be_met_is_proved_empty() -> None:
    rule = CPMpy(lambda z, y: [z[0] < z[1], z[1] < z[0]], SPACE)
    start = CPSAT(rule).start(rule.encode([1]), 0)
    assert (start.found.tolist(), start.proved.tolist()) == ([False], [True])


def test_a_task_takes_it_by_default_and_settings_are_checked() -> None:
    rule = random_rule(0)
    inverse = Task(SPACE, rule).inverse
    assert isinstance(inverse, CPSAT | Enumeration) or inverse.exact
    for settings, words in (({"cap": 0}, "cap=0"), ({"work": -1.0}, "work=-1")):
        with pytest.raises(InverseError, match=words):
            CPSAT(rule, **settings)  # type: ignore[arg-type]


def test_other_rules_are_refused() -> None:
    for make, words in ((CPSAT, "sg.CPMpy"), (Z3, "sg.SMT")):
        with pytest.raises(InverseError, match=words):
            make(Program(lambda *z: sum(z), SPACE))  # type: ignore[operator, arg-type]
    with pytest.raises(InverseError, match=r"Use sg\.inverses\.CPSAT for a rule in CPMpy"):
        Z3(random_rule(0))  # type: ignore[arg-type]


def test_what_cp_sat_cannot_take_is_said() -> None:
    rule = CPMpy(lambda z, y: z[0] * 2**40 * z[1] * 2**40 > y, SPACE)
    with pytest.raises(ConstraintError, match="CP-SAT cannot take"):
        CPSATEngine(rule, Limits(0, 1.0, 1.0)).solve([StartQuery(1, 0, 0)])


def test_models_are_kept_for_answers_and_no_state_of_one_query_stays_for_the_next() -> None:
    rule = random_rule(4)
    engine = CPSATEngine(rule, Limits(0, 10.0, 10.0))
    queries = [FibreQuery(2, (0, 1, 2, 3), dropped, 100) for dropped in ((0,), (0, 1), (0, 1, 2, 3), (3,))]
    replies = engine.solve([*queries, StartQuery(2, 7, 0), *queries])
    assert replies[:4] == replies[5:]
    assert len(engine._models) == 1


def first_three(z: Any, y: Any) -> Any:
    return z[0] + z[1] + z[2] == y


def test_without_ortools_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("ortools")]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InverseError, match=r"needs ortools, which is not installed: pip install ortools\.$"):
        CPSAT(random_rule(0))


def test_sites_are_named_by_their_places() -> None:
    assert [variable.name for variable in CPMpy(lambda z, y: [], SPACE).sites] == ["z[0]", "z[1]", "z[2]", "z[3]"]


def test_lists_that_are_short_piece_by_piece_but_too_long_together_are_not_whole() -> None:
    """Of 10 · 10 states at a time each piece has a few solutions, and all of them together are 75."""
    space = Categorical([range(10)] * 3)
    rule = CPMpy(lambda z, y: sum(z) == y, space)
    (number,) = rule.encode([13]).tolist()
    for cap, end, count in ((75, "whole", 75), (74, "capped", 74), (20, "capped", 20)):
        ((states, told),) = CPSAT(rule, table=100, solutions_cap=cap).listed([number])
        assert (told, len(states)) == (end, count)
