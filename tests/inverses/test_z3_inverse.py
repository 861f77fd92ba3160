"""The Z3 inverse against enumeration: fibres, starts, solutions, limits, workers and their deaths."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import Tensor

from smt_cases import ragged, value
from softground.constraints.program import Program
from softground.constraints.smt import SMT
from softground.errors import InverseError
from softground.inverses import solutions
from softground.inverses.base import Fibre
from softground.inverses.enumeration import Enumeration
from softground.inverses.z3 import Z3
from softground.projections import Dropped
from softground.solver import z3 as engine
from softground.solver.engine import Reply
from softground.spaces import Categorical
from softground.tasks.formulas.rule import formula_rule

z3 = pytest.importorskip("z3")

DIGITS, OPERATORS = tuple(range(1, 10)), "+-*/"


def formulas(length: int) -> tuple[Categorical, Program, SMT]:
    space = Categorical([OPERATORS if site % 2 else DIGITS for site in range(length)])
    return space, Program(lambda *symbols: value(symbols), space), SMT(formula_rule, space)


def sudoku(z: list[Any], y: Any) -> list[Any]:
    rows = [z[4 * r : 4 * r + 4] for r in range(4)]
    blocks = [[rows[2 * i + k][2 * j + m] for k in range(2) for m in range(2)] for i in range(2) for j in range(2)]
    return [z3.Distinct(*group) for group in [*rows, *zip(*rows, strict=True), *blocks]]


def same_bits(a: Fibre, b: Fibre) -> bool:
    return all(torch.equal(getattr(a, name), getattr(b, name)) for name in ("values", "mask", "complete"))


def walk(space: Categorical, rows: int, dropped: tuple[int, ...], seed: int) -> tuple[Tensor, list[Any]]:
    """States one step off their answers, as a chain proposes them: many of their fibres are empty."""
    generator = torch.Generator().manual_seed(seed)
    z = space.states(torch.randint(space.size, (rows,), generator=generator))
    answers = [value(symbols) for symbols in space.decode(z)]
    kept = torch.tensor([site for site in range(space.sites) if site not in dropped])
    site = kept[torch.randint(len(kept), (rows, 1), generator=generator)]
    new = (torch.rand(rows, 1, generator=generator) * torch.tensor(space.sizes)[site]).long()
    moved = torch.rand(rows, 1, generator=generator) < 0.7
    return torch.where(moved, z.scatter(1, site, new), z), answers


@pytest.mark.parametrize(
    ("dropped", "rows"),
    [((2, 4), 1200), ((0, 6), 300), ((4, 2), 200), ((1, 2), 300), ((6, 3), 200), ((1, 5), 200), ((3,), 200)],
)
def test_fibres_of_formulas_equal_enumeration(dropped: tuple[int, ...], rows: int) -> None:
    space, program, smt = formulas(7)
    z, answers = walk(space, rows, dropped, seed=sum(dropped))
    sites = torch.tensor(dropped).expand(rows, -1)
    truth = ragged(Enumeration(space, program).fibre(z, program.encode(answers), Dropped(sites)))
    inverse = Z3(smt)
    fibre = inverse.fibre(z, smt.encode(answers), Dropped(sites))
    assert ragged(fibre) == truth
    assert fibre.complete.all()
    assert 0 < sum(not f for f in truth) < rows
    assert inverse.faults["unknowns"] == inverse.capped == 0
    assert inverse.solver_seconds > 0


@pytest.mark.parametrize("kind", engine.KINDS)
def test_each_kind_of_solver_finds_what_the_table_finds(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With rows that drop different sites."""
    monkeypatch.setattr(engine, "KINDS", (kind,))
    space, program, smt = formulas(7)
    z, answers = walk(space, 120, (2, 4), seed=5)
    sites = torch.tensor([(2, 4), (1, 4), (3, 5)]).repeat(40, 1)
    truth = ragged(Enumeration(space, program).fibre(z, program.encode(answers), Dropped(sites)))
    y = smt.encode(answers)
    table, search = Z3(smt).fibre(z, y, Dropped(sites)), Z3(smt, table=0).fibre(z, y, Dropped(sites))
    assert ragged(table) == truth
    assert same_bits(table, search)


def test_fibres_starts_and_solutions_on_a_small_problem() -> None:
    space, program, smt = formulas(3)
    answers = [5, Fraction(3, 2), 81, 100]
    z = torch.zeros(4, 3, dtype=torch.long)
    sites = torch.arange(3).expand(4, -1)
    brute, y = Enumeration(space, program), smt.encode(answers)
    truth = ragged(brute.fibre(z, program.encode(answers), Dropped(sites)))
    expected = solutions(brute, program.encode(answers))
    for table in (4096, 40, 0):
        inverse = Z3(smt, table=table)
        assert ragged(inverse.fibre(z, y, Dropped(sites))) == truth
        all_states = solutions(inverse, y)
        for name in ("index", "owner", "offsets"):
            assert torch.equal(getattr(all_states, name), getattr(expected, name))
        start = inverse.start(y, seed=0)
        assert start.found.tolist() == [True, True, True, False]
        assert start.proved.all()
        assert smt.feasible(start.z[:3], y[:3]).all()
    with pytest.raises(InverseError, match="solutions_cap"):
        solutions(Z3(smt, solutions_cap=3), y)
    with pytest.raises(InverseError, match="gave up"):
        solutions(Z3(smt, table=0, rlimit=1), y)


def test_sudoku_by_search() -> None:
    """Half a board dropped (65,536 combinations): every start is a valid board, and its fibre holds it."""
    space = Categorical([range(1, 5)] * 16)
    smt = SMT(sudoku, space)
    inverse = Z3(smt)
    y = smt.encode(["valid"] * 12)
    start = inverse.start(y, seed=1)
    assert start.found.all()
    assert smt.feasible(start.z, y).all()
    assert smt.admissible(start.z).all()
    assert len(set(map(tuple, start.z.tolist()))) > 6
    sites = torch.tensor([2, 3, 6, 7, 8, 9, 12, 13]).expand(12, -1)
    fibre = inverse.fibre(start.z, y, Dropped(sites))
    assert fibre.complete.all()
    boards = solutions(inverse, y[:1])
    assert boards.count.tolist() == [288]
    every = space.states(boards.index)
    kept = torch.tensor([0, 1, 4, 5, 10, 11, 14, 15])
    for row, found in zip(start.z, ragged(fibre), strict=True):
        alike = every[(every[:, kept] == row[kept]).all(1)]
        assert found == [tuple(v) for v in alike[:, sites[0]].tolist()]


def test_what_a_capped_search_finds_does_not_depend_on_the_past() -> None:
    space, _, smt = formulas(5)
    z, answers = walk(space, 20, (0, 2, 4), seed=2)
    y, sites = smt.encode(answers), torch.tensor([0, 2, 4]).expand(20, -1)
    first = Z3(smt, cap=2, table=0).fibre(z, y, Dropped(sites))
    assert same_bits(first, Z3(smt, cap=2).fibre(z, y, Dropped(sites)))
    backwards = Z3(smt, cap=2, table=0)
    again = [backwards.fibre(z[b : b + 1], y[b : b + 1], Dropped(sites[:1])) for b in reversed(range(20))][::-1]
    assert not first.complete.all()
    assert [f for fibre in again for f in ragged(fibre)] == ragged(first)


def test_unknown_rejects_that_row_alone_and_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [""]

    def overheard(z: list[Any], y: Any) -> Any:
        asked[0] = str((z, y))
        return formula_rule(z, y)

    space = formulas(5)[0]
    smt = SMT(overheard, space)
    z, answers = walk(space, 30, (0, 2), seed=3)
    y, sites = smt.encode(answers), torch.tensor([0, 2]).expand(30, -1)
    truth = ragged(Z3(smt).fibre(z, y, Dropped(sites)))
    smt.expression(smt.key(int(y[4])), z[4].tolist(), (0, 2))
    poison = asked[0]
    check: Callable[..., Any] = z3.Solver.check
    inverse = Z3(smt, table=0)
    with monkeypatch.context() as patch:
        patch.setattr(z3.Solver, "check", lambda s, *a: z3.unknown if asked[0] == poison else check(s, *a))
        fibre = inverse.fibre(z, y, Dropped(sites))
    assert (~fibre.complete).nonzero().tolist() == [[4]]
    assert inverse.faults["unknowns"] == 1
    assert ragged(fibre) == [*truth[:4], [], *truth[5:]]
    assert ragged(inverse.fibre(z, y, Dropped(sites))) == truth
    assert inverse.faults["unknowns"] == 1
    assert inverse.hits == 29


def test_a_tiny_resource_limit_says_unknown() -> None:
    space, _, smt = formulas(7)
    z, answers = walk(space, 5, (2, 4), seed=4)
    inverse = Z3(smt, table=0, rlimit=1)
    y = smt.encode(answers)
    fibre = inverse.fibre(z, y, Dropped(torch.tensor([2, 4]).expand(5, -1)))
    assert not fibre.complete.any()
    assert inverse.faults["unknowns"] == 5
    start = inverse.start(y, seed=0)
    assert not start.found.any()
    assert not start.proved.any()


def test_chains_that_come_back_are_answered_from_memory() -> None:
    space, _, smt = formulas(5)
    z, answers = walk(space, 40, (0, 2), seed=6)
    y, sites = smt.encode(answers), torch.tensor([0, 2]).expand(40, -1)
    inverse = Z3(smt, cache=30)
    first = inverse.fibre(z, y, Dropped(sites))
    distinct = len({(i, tuple(u[1::2]), u[4]) for i, u in zip(y.tolist(), z.tolist(), strict=True)})
    assert inverse.queries == 40
    assert inverse.hits == 40 - distinct
    other = z.scatter(1, sites, 3)
    assert same_bits(
        inverse.fibre(other[-20:], y[-20:], Dropped(sites[-20:])), inverse.fibre(z[-20:], y[-20:], Dropped(sites[-20:]))
    )
    assert inverse.hits == 80 - distinct
    assert same_bits(inverse.fibre(z, y, Dropped(sites)), first)
    assert len(inverse._cache) == 30


def test_starts_vary_and_are_reproducible() -> None:
    smt = formulas(7)[2]
    y = smt.encode([12] * 10 + [Fraction(7, 2)] * 10 + [Fraction(1, 729)] * 2 + [10**6])
    inverse = Z3(smt)
    start = inverse.start(y, seed=0)
    assert start.found.tolist() == [True] * 22 + [False]
    assert start.proved.all()
    assert smt.feasible(start.z[:22], y[:22]).all()
    assert len(set(map(tuple, start.z[:20].tolist()))) > 15
    assert torch.equal(Z3(smt, table=0).start(y[20:22], 1).z, Z3(smt, table=0).start(y[20:22], 1).z)
    inverse.fibre(start.z, y, Dropped(torch.tensor([2, 4]).expand(23, -1)))
    assert torch.equal(inverse.start(y, seed=0).z, start.z)
    assert not torch.equal(inverse.start(y, seed=1).z, start.z)


def test_workers_and_chunks_change_no_bit() -> None:
    space, _, smt = formulas(7)
    z, answers = walk(space, 40, (2, 4), seed=7)
    y, sites = smt.encode(answers), torch.tensor([2, 4]).expand(40, -1)
    for table in (4096, 0):
        here = Z3(smt, table=table, cap=3)
        fibre, start = here.fibre(z, y, Dropped(sites)), here.start(y[:6], seed=3)
        for chunk in (7, 100):
            there = Z3(smt, table=table, cap=3, workers=2, chunk=chunk)
            assert same_bits(there.fibre(z, y, Dropped(sites)), fibre)
            assert torch.equal(there.start(y[:6], seed=3).z, start.z)
    assert not fibre.complete.all()


def test_a_worker_that_dies_costs_one_unknown_query() -> None:
    space, here = Categorical([range(10)] * 2), os.getpid()

    def deadly(z: list[Any], y: Any) -> Any:
        if y == 13 and os.getpid() != here:
            os._exit(3)
        return z[0] + z[1] == y

    smt = SMT(deadly, space)
    y, z = smt.encode([11, 12, 14, 13]), torch.full((4, 2), 5)
    inverse = Z3(smt, workers=2, chunk=2)
    for _ in range(2):
        fibre = inverse.fibre(z, y, Dropped(torch.tensor([[1]] * 4)))
        assert fibre.complete.tolist() == [True, True, True, False]
        assert ragged(fibre) == [[(6,)], [(7,)], [(9,)], []]
    assert inverse.faults["crashes"] == inverse.faults["unknowns"] == 1
    assert inverse.hits == 4


def test_a_start_is_borrowed_from_a_row_with_the_same_answer_and_known_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    inverse = Z3(SMT(lambda z, y: z[0] + z[1] == y, Categorical([range(10)] * 2)))
    solve, asked = inverse._solve, list[int]()

    def first_alone(queries: Any) -> list[Reply]:
        asked.append(len(queries))
        found = solve(queries[:1]) if len(asked) == 1 else []
        return found + [Reply([], "unknown")] * (len(queries) - len(found))

    monkeypatch.setattr(inverse, "_solve", first_alone)
    known = torch.tensor([[2, -1], [4, -1], [2, -1], [-1, -1], [-1, 3]])
    start = inverse.start_pinned(inverse.rule.encode([5, 5, 5, 5, 5]), 0, known)
    assert start.found.tolist() == [True, False, True, False, False]
    assert start.z[[0, 2]].tolist() == [[2, 3]] * 2
    assert asked == [5, 4, 4, 4]
