"""Formulas tabulated together: each gets what it gets alone, and one that Z3 cannot simplify spoils no other."""

from __future__ import annotations

import pytest

from softground.constraints.smt import SMT
from softground.solver.crew import Crew
from softground.solver.engine import FibreQuery, Limits
from softground.solver.truth_table import TruthTable
from softground.spaces import Categorical

z3 = pytest.importorskip("z3")

SPACE = Categorical([range(4), ("x", "y", "z"), (5, 2, 9)])
SMALL = Limits(table=36, work=1_000_000, timeout=10.0)


def brute(total: int, sites: tuple[int, ...], codes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Completions of ``sites`` with symbol 0 + code 1 · symbol 2 = total, in order."""
    numbers = [(0, 1, 2, 3), (0, 1, 2), (5, 2, 9)]
    found = []
    for k in range(len(numbers[sites[0]]) * len(numbers[sites[1]])):
        pair = divmod(k, len(numbers[sites[1]]))
        state = list(codes)
        state[sites[0]], state[sites[1]] = pair
        a, b, c = (n[s] for n, s in zip(numbers, state, strict=True))
        if a + b * c == total:
            found.append(pair)
    return found


@pytest.mark.parametrize("sites", [(0, 2), (2, 0), (1, 2)])
def test_a_group_gives_what_each_formula_gives_alone(sites: tuple[int, int]) -> None:
    smt = SMT(lambda z, y: z[0] + z[1] * z[2] == y, SPACE)
    codes, totals = (1, 1, 0), (2, 5, 7, 8, 100, 12, 3)
    table = TruthTable(smt.terms)
    formulas = [smt.expression(total, codes, sites) for total in totals]
    truth = [brute(total, sites, codes) for total in totals]
    assert table.solve(formulas, sites) == truth
    assert [table.solve([formula], sites)[0] for formula in formulas] == truth
    assert 0 < sum(map(bool, truth)) < len(totals)


def test_an_undecided_formula_is_searched_and_the_others_are_not() -> None:
    """The third has a constant of its own, which simplification cannot decide."""
    own = z3.Int("own")
    smt = SMT(lambda z, y: z[0] + z[1] * z[2] == y if y != 7 else [z[0] + z[1] * z[2] == y, own * own == z[0]], SPACE)
    codes, sites = (1, 1, 0), (0, 2)
    found = TruthTable(smt.terms).solve([smt.expression(y, codes, sites) for y in (5, 8, 7)], sites)
    assert found == [brute(5, sites, codes), brute(8, sites, codes), None]
    queries = [FibreQuery(y, codes, dropped, 64) for y in (5, 8, 7) for dropped in (sites, (2, 0))]
    replies = Crew(smt, SMALL, forks=False).solve(queries)
    squares = [state for state in brute(7, sites, codes) if state[0] in (0, 1)]
    assert [reply.states for reply in replies[::2]] == [brute(5, sites, codes), brute(8, sites, codes), squares]
    assert [o.states for o in replies[1::2]] == [sorted((b, a) for a, b in o.states) for o in replies[::2]]
    assert {reply.end for reply in replies} == {"whole"}


def test_groups_are_no_larger_than_a_table() -> None:
    """More formulas than a group holds, of two drop sets in turn, come back in their own order, cut at the cap."""
    smt = SMT(lambda z, y: z[0] + z[1] * z[2] >= y, SPACE)
    codes = (1, 1, 0)
    queries = [FibreQuery(y, codes, sites, 3) for y in range(20) for sites in ((0, 1), (1, 2))]
    together = Crew(smt, SMALL, forks=False).solve(queries)
    alone = [Crew(smt, SMALL, forks=False).solve([query])[0] for query in queries]
    assert together == alone
    assert {reply.end for reply in together} == {"whole", "capped"}
