"""Where an inverse changes its way of working: at the edge itself, and with the same result on both sides."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from problems import PROBLEMS, Problem, small_sum
from softground.constraints import Program
from softground.errors import InverseError
from softground.inverses import (
    Enumeration,
    Listing,
    Table,
    codes,
    default_inverse,
    enumeration,
    records,
    solutions,
    table,
)
from softground.inverses.base import candidates
from softground.inverses.codes import ByAnswer, Solutions, entries
from softground.inverses.records import RECORDED, record
from softground.inverses.sets import Listed
from softground.learner.recording import asks_nothing
from softground.preparing import human
from softground.projections import Drop, Dropped
from softground.spaces import Categorical
from softground.target import Target

PROBLEM = small_sum()
CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (1, "1 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (999_000, "999 kB"),
        (10**6, "1 MB"),
        (5.04e9, "5.04 GB"),
        (1e15, "1e+03 TB"),
    ],
)
def test_sizes_in_words(size: float, words: str) -> None:
    assert human(size) == words


def test_a_table_may_take_all_it_is_allowed() -> None:
    size = Table.bytes_needed(PROBLEM.space)
    assert size == 6 * PROBLEM.space.size
    assert repr(Table(PROBLEM.program, limit=size)) == "Table(64 states, 10 answers, 384 B)"
    with pytest.raises(InverseError, match="384 B; the limit is 383 B"):
        Table(PROBLEM.program, limit=size - 1)


@pytest.mark.parametrize("chunk", [1, 7, 63, 64, 65])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_states_are_worked_through_in_chunks(problem: Problem, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    y, drop = problem.program.encode([problem.answer] * 5), Dropped(torch.tensor([[0, 2]] * 5))
    z, expected = problem.states[[0, 1, 1, 0, 1]], problem.table
    monkeypatch.setattr(table, "CHUNK_STATES", chunk)
    monkeypatch.setattr(enumeration, "CHUNK_STATES", chunk)
    for inverse in (problem.table, problem.enumeration):
        assert torch.equal(solutions(inverse, y).index, solutions(expected, y).index)
        fibre, whole = inverse.fibre(z, y, drop), expected.fibre(z, y, drop)
        assert torch.equal(fibre.mask, whole.mask)
        assert torch.equal(fibre.values, whole.values)
        start = inverse.start(y, 3)
        assert start.found.all()
        assert problem.program.feasible(start.z, y).all()


def test_folded_tables_are_kept_for_the_latest_sets_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "FOLDS_KEPT", 2)
    space, inverse, y = PROBLEM.space, PROBLEM.table, PROBLEM.program.encode([PROBLEM.answer]).expand(3)
    for sites in ([0], [1], [2, 0], [1], [0], [0, 2]):
        drop = Drop(space, sites).draw(None, 3, CPU)  # type: ignore[arg-type]
        loose = inverse.fibre(PROBLEM.states[:3], y, Dropped(drop.sites))
        folded = inverse.fibre(PROBLEM.states[:3], y, drop)
        assert torch.equal(folded.values, loose.values)
        assert torch.equal(folded.mask, loose.mask)
        assert (CPU, tuple(sites)) in inverse._folded
        assert len(inverse._folded) <= 2
    kept = inverse._folded[CPU, (0, 2)]
    inverse.fibre(PROBLEM.states[:3], y, drop)
    assert inverse._folded[CPU, (0, 2)] is kept


def padded(inverse: Table, rows: int) -> bool:
    y = PROBLEM.program.encode([PROBLEM.answer]).expand(rows)
    target = Target(PROBLEM.belief(rows), y, 1.0)
    ((_, of),) = inverse.law(target).of
    assert isinstance(of, Listed)
    inverse.law(target).marginals()  # what is kept is made once
    assert asks_nothing(inverse.law(target).marginals) is (of.longest > 0)
    return of.longest > 0


def test_short_rows_are_padded_and_long_ones_ragged(monkeypatch: pytest.MonkeyPatch) -> None:
    inverse = PROBLEM.table
    assert inverse.longest == 12
    monkeypatch.setattr(table, "PADDED_CHEAP", 36)
    assert (padded(inverse, 3), padded(inverse, 4)) == (True, False)
    always = PROBLEM.padded
    assert padded(always, 40)
    monkeypatch.setattr(table, "PADDED_LIMIT", 48)
    assert (padded(always, 4), padded(always, 5)) == (True, False)
    assert not padded(PROBLEM.ragged, 1)


def test_a_table_with_an_answer_that_nothing_has_is_ragged() -> None:
    program = Program(lambda a, b: a + b, Categorical([range(3)] * 2))
    inverse = Table(program, _padded=True)
    y = program.encode([2, 3])
    target = Target(program.space.uniform(2, CPU), y, 1.0)
    assert inverse.solvable
    inverse.law(target).marginals()
    assert asks_nothing(inverse.law(target).marginals)
    program.encode([77])
    assert not inverse.solvable
    assert not asks_nothing(inverse.law(target).marginals)
    assert inverse.law(target).mode().tolist() == [[0, 2], [1, 2]]


def test_states_without_an_answer_are_in_no_row() -> None:
    space = Categorical([range(3)] * 2)
    program = Program(lambda a, b: None if a == b else a - b, space)
    inverse = Table(program)
    y = program.encode([1, -2, 0])
    assert [space.states(part).tolist() for part in solutions(inverse, y).index.split([2, 1])] == [
        [[1, 0], [2, 1]],
        [[0, 2]],
    ]
    assert inverse.start(y, 0).found.tolist() == [True, True, False]
    assert inverse.answer_ids(torch.tensor([[1, 1]])).tolist() == [-1]
    empty = Table(Program(lambda a, b: None, space))
    assert (empty.longest, repr(empty)) == (0, "Table(9 states, 0 answers, 54 B)")


def test_the_limits_of_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    inverse = PROBLEM.table
    monkeypatch.setattr(records, "STATES", 64)
    monkeypatch.setattr(records, "ANSWERS", PROBLEM.program.known)
    assert record(inverse) is not None
    monkeypatch.setattr(records, "STATES", 63)
    assert record(inverse) is None
    monkeypatch.setattr(records, "STATES", 64)
    monkeypatch.setattr(records, "ANSWERS", PROBLEM.program.known - 1)
    assert record(inverse) is None


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_a_record_is_refused_where_it_does_not_fit(problem: Problem) -> None:
    facts, tensors = record(problem.table)  # type: ignore[misc]
    rebuilt: Any = RECORDED["table"](problem.space, facts, tensors)
    everything = problem.space.states(torch.arange(problem.space.size))
    assert torch.equal(rebuilt.answer_ids(everything), problem.table.answer_ids(everything))
    answer, known = tensors["answer"], problem.program.known
    wrong = [answer[1:], torch.where(answer == answer[0], -2, answer), torch.where(answer == answer[0], known, answer)]
    for other in wrong:
        with pytest.raises(ValueError, match="does not fit the symbols"):
            RECORDED["table"](problem.space, facts, tensors | {"answer": other})


@pytest.mark.parametrize("vectorised", [True, False])
def test_a_program_is_tabulated_up_to_its_limit(vectorised: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    space = Categorical([range(4)] * 2)
    program = Program(lambda a, b: a + b, space, vectorised=vectorised)
    limits = (
        {"TABULATE_VECTORISED": 16, "TABULATE_PLAIN": 0}
        if vectorised
        else {"TABULATE_VECTORISED": 0, "TABULATE_PLAIN": 16}
    )
    for name, value in limits.items():
        monkeypatch.setattr(table, name, value)
    assert isinstance(default_inverse(program, space), Table)
    for name, value in limits.items():
        monkeypatch.setattr(table, name, min(value, 15))
    other = default_inverse(program, space)
    assert isinstance(other, Enumeration)
    assert (other.space, other.constraint) == (space, program)


def test_an_enumeration_tries_what_its_cap_allows() -> None:
    problem = small_sum()  # its own: an answer that nothing explains would make other tests' tables unsolvable
    space, program = problem.space, problem.program
    assert [Enumeration(space, program, cap=16).options(d) for d in (1, 2)] == [4, 16]
    with pytest.raises(InverseError, match="64 combinations to try; the cap is 16"):
        Enumeration(space, program, cap=16).options(3)
    y = program.encode([problem.answer, 99])
    listed, tried = Enumeration(space, program, cap=64), Enumeration(space, program, cap=63)
    assert listed.start(y, 0).proved.tolist() == [True, True]
    assert tried.start(y, 0).proved.tolist() == [False, False]
    assert tried.start(y, 0).found.tolist() == listed.start(y, 0).found.tolist() == [True, False]
    assert not Enumeration(space, program, cap=63, tries=0).start(y, 0).found.any()
    assert repr(listed) == f"Enumeration({space!r})"


@pytest.mark.parametrize(("cap", "block"), [(63, [2, 1]), (16, [2, 1]), (15, [2]), (4, [2]), (3, [2])])
def test_a_start_completes_as_many_sites_as_fit(cap: int, block: list[int]) -> None:
    assert Enumeration(PROBLEM.space, PROBLEM.program, cap=cap)._largest_block() == block


def test_a_block_of_sites_stays_moderate() -> None:
    space = Categorical([range(10)] * 6)
    assert Enumeration(space, PROBLEM.program)._largest_block() == [5, 4, 3, 2]  # 10⁴ combinations, of a cap of 10⁵


def test_random_starts_are_spread_over_the_solutions() -> None:
    """Every solution of a space too large to list is found by some seed: kept and completed sites both vary."""
    inverse = Enumeration(PROBLEM.space, PROBLEM.program, cap=16)
    y = PROBLEM.program.encode([PROBLEM.answer]).expand(400)
    start = inverse.start(y, 0)
    assert start.found.all()
    assert torch.equal(torch.unique(start.z, dim=0), PROBLEM.states)
    assert torch.equal(inverse.start(y, 0).z, start.z)


@pytest.mark.parametrize("limit", [1, 2, 4, 8, 12, 16, 10**6])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_runs_of_any_size_give_the_same_law(problem: Problem, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    known, sizes = problem.ragged.law(problem.target(2, 0.7)), problem.space.sizes
    marginals, mass, mode = known.marginals(), known.log_mass(), known.mode()
    monkeypatch.setattr(codes, "BLOCK_LIMIT", limit)
    made = codes.runs(sizes)
    assert [site for run in reversed(made) for site in run] == list(range(problem.space.sites))
    for run in made:
        joint = math.prod(sizes[site] for site in run)
        assert joint <= limit or len(run) == 1
        assert not run.start or joint * sizes[run.start - 1] > limit  # no more sites would have fitted
    for padded in (False, True):
        law = Table(problem.program, _padded=padded).law(problem.target(2, 0.7))
        assert torch.allclose(law.marginals(), marginals, atol=1e-14)
        assert torch.allclose(law.log_mass(), mass, atol=1e-14)
        assert torch.equal(law.mode(), mode)


def test_candidates_count_in_each_rows_own_radix() -> None:
    values, real = candidates(torch.tensor([2, 3, 4]), torch.tensor([[0, 1], [1, 0], [2, 0]]), 8)
    assert values[0][real[0]].tolist() == [[a, b] for a in range(2) for b in range(3)]
    assert values[1][real[1]].tolist() == [[a, b] for a in range(3) for b in range(2)]
    assert values[2][real[2]].tolist() == [[a, b] for a in range(4) for b in range(2)]
    assert real.sum(1).tolist() == [6, 6, 8]


def test_rows_of_solutions_may_be_empty() -> None:
    rows = [torch.tensor([4, 7]), torch.tensor([], dtype=torch.long), torch.tensor([1])]
    made = ByAnswer.of(rows, (8,), CPU)
    place, owner, offsets = entries(*made.rows(torch.arange(3)).unbind(1))
    found = Solutions(made.index(place), owner, offsets)
    assert found.index.tolist() == [4, 7, 1]
    assert found.owner.tolist() == [0, 0, 2]
    assert found.offsets.tolist() == [0, 2, 2, 3]
    assert found.count.tolist() == [2, 0, 1]
    assert made.drawn(torch.tensor([1, 9, 2]), 0)[1].tolist() == [False, False, True]


def test_a_listing_of_one_state_and_fibres_of_none() -> None:
    space = Categorical([range(3)] * 2)
    listing = Listing(space, torch.tensor([[1, 2]]))
    z = torch.tensor([[1, 0], [0, 0], [1, 2]])
    fibre = listing.fibre(z, z[:, 0], Dropped(torch.tensor([[1]] * 3)))
    assert fibre.count.tolist() == [1, 0, 1]
    assert fibre.values.shape == (3, 1, 1)
    assert listing.feasible(torch.tensor([[1, 2], [2, 2], [0, 0]]), z[:, 0]).tolist() == [True, False, False]
    nothing = listing.fibre(z[:0], z[:0, 0], Dropped(torch.zeros(0, 1, dtype=torch.long)))
    assert (nothing.values.shape, nothing.mask.shape) == ((0, 1, 1), (0, 1))
    start = listing.start(torch.zeros(2), 0)
    assert start.z.tolist() == [[1, 2]] * 2


def test_a_start_is_drawn_uniformly_by_one_number_each() -> None:
    y = PROBLEM.program.encode([PROBLEM.answer, 0, PROBLEM.answer])
    uniform = torch.rand(3, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    place = (uniform * torch.tensor([12, 1, 12])).long()
    expected = torch.stack([PROBLEM.states[place[0]], torch.zeros(3, dtype=torch.long), PROBLEM.states[place[2]]])
    assert torch.equal(PROBLEM.table.start(y, 4).z, expected)
    draw = torch.randint(12, (3,), generator=torch.Generator().manual_seed(4))
    assert torch.equal(Listing(PROBLEM.space, PROBLEM.states).start(y, 4).z, PROBLEM.states[draw])


@pytest.mark.parametrize("code", [-1, 4])
def test_a_listing_refuses_codes_outside_an_alphabet_and_counts_what_is_repeated(code: int) -> None:
    wrong = PROBLEM.states.clone()
    wrong[3, 1] = code
    with pytest.raises(InverseError, match="outside its site's alphabet"):
        Listing(PROBLEM.space, wrong)
    with pytest.raises(InverseError, match="3 of 15 listed states are repeated"):
        Listing(PROBLEM.space, torch.cat([PROBLEM.states, PROBLEM.states[:3]]))


def test_a_space_within_the_cap_is_listed_whole() -> None:
    """One state in 100,000 has the sum 0: random projections of at most 10,000 combinations would miss it."""
    space = Categorical([range(10)] * 5)
    program = Program(lambda *digits: sum(digits), space, vectorised=True)
    start = Enumeration(space, program).start(program.encode([0, 0, 0]), seed=0)
    assert (start.found.tolist(), start.proved.tolist()) == ([True] * 3, [True] * 3)
    assert not start.z.any()


def test_copies_on_another_device_are_whole() -> None:
    other, inverse, listing = torch.device("meta"), PROBLEM.table, Listing(PROBLEM.space, PROBLEM.states)
    pairs = [(inverse.columns(CPU).answer, inverse.columns(other).answer)]
    pairs += [
        (getattr(inverse.columns(CPU).states, n), getattr(inverse.columns(other).states, n))
        for n in ("codes", "offsets")
    ]
    for ask in (listing.states, listing.codes, listing._indices):
        pairs.append((ask(CPU), ask(other)))
        assert ask(other) is ask(other)  # copied once
    for here, there in pairs:
        assert (there.device, there.shape, there.dtype) == (other, here.shape, here.dtype)
