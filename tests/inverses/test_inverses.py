"""Inverses by enumeration and by table: the same fibres as brute force, and honest limits."""

from __future__ import annotations

import pytest
import torch

from problems import PROBLEMS, Problem
from softground.constraints import Program
from softground.errors import InverseError
from softground.inverses import Enumeration, Inverse, Table, most_probable, solutions
from softground.preparing import watched
from softground.projections import Drop, Dropped
from softground.spaces import Categorical
from softground.target import Target
from softground.tasks.formulas import formula_program


def brute_fibre(problem: Problem, z: torch.Tensor, dropped: tuple[int, ...]) -> list[list[int]]:
    kept = [i for i in range(problem.space.sites) if i not in dropped]
    same = (problem.states[:, kept] == z[kept]).all(-1)
    return sorted(problem.states[same][:, list(dropped)].tolist())


@pytest.mark.parametrize("kind", ["table", "enumeration"])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_fibres_equal_brute_force(problem: Problem, kind: str) -> None:
    inverse = getattr(problem, kind)
    everything = problem.space.states(torch.arange(problem.space.size))
    y = problem.program.encode([problem.answer])
    sets = [(i,) for i in range(3)] + [(0, 1), (1, 2), (2, 0)]
    for dropped in sets:
        fibre = inverse.fibre(
            everything, y.expand(len(everything)), Dropped(torch.tensor(dropped).expand(len(everything), -1))
        )
        assert bool(fibre.complete.all())
        for row, z in enumerate(everything):
            values = fibre.values[row][fibre.mask[row]].tolist()
            assert values == sorted(values)
            assert values == brute_fibre(problem, z, dropped)


def test_table_and_enumeration_agree_on_length_seven_formulas_with_mixed_drop_sets() -> None:
    program = formula_program(7)
    table, enumeration = Table(program), Enumeration(program.space, program)
    generator = torch.Generator().manual_seed(0)
    rows = 3000
    sizes = torch.tensor(program.space.sizes)
    z, truth = ((torch.rand(rows, 7, generator=generator) * sizes).long() for _ in range(2))
    y = program.answer_ids(truth)
    z[: rows // 2] = truth[: rows // 2]  # half of the fibres are certainly not empty
    dropped = torch.stack([torch.randperm(7, generator=generator)[:2] for _ in range(rows)])
    a, b = table.fibre(z, y, Dropped(dropped)), enumeration.fibre(z, y, Dropped(dropped))
    assert torch.equal(a.mask, b.mask)
    assert torch.equal(a.values, b.values)
    assert bool((a.count[: rows // 2] > 0).all())
    assert bool((a.count[rows // 2 :] == 0).any())


def test_the_table_of_length_seven_formulas() -> None:
    program = formula_program(7)
    table = Table(program)
    assert repr(table) == "Table(419,904 states, 8,268 answers, 3.36 MB)"
    ids = torch.arange(8268)
    count = solutions(table, ids).count
    assert int(count.sum()) == 419_904
    assert int(count.max()) == 6306
    assert float((count.double() ** 2).sum() / 419_904) == pytest.approx(2018, abs=1)  # for a formula drawn at random


def test_solutions_list_exactly_the_feasible_set() -> None:
    for problem in PROBLEMS:
        y = problem.program.encode([problem.answer, problem.answer])
        for inverse in (problem.table, problem.enumeration):
            all_states = solutions(inverse, y)
            index = problem.space.index(problem.states)
            assert torch.equal(all_states.index, torch.cat([index, index]))
            assert all_states.offsets.tolist() == [0, len(index), 2 * len(index)]


@pytest.mark.parametrize("kind", ["table", "enumeration"])
def test_starts_are_feasible_varied_and_reproducible(kind: str) -> None:
    problem = PROBLEMS[0]
    inverse = getattr(problem, kind)
    y = problem.program.encode([problem.answer] * 200)
    start = inverse.start(y, seed=1)
    assert bool(start.found.all())
    assert bool(problem.program.feasible(start.z, y).all())
    assert len(torch.unique(start.z, dim=0)) > len(problem.states) // 2
    assert torch.equal(start.z, inverse.start(y, seed=1).z)
    assert not torch.equal(start.z, inverse.start(y, seed=2).z)


def test_a_start_by_random_projections_where_the_space_cannot_be_listed() -> None:
    program = formula_program(9)  # 15,116,544 states
    inverse = Enumeration(program.space, program)
    y = program.encode([12, -3, 7])
    start = inverse.start(y, seed=0)
    assert bool(start.found.all())
    assert bool(program.feasible(start.z, y).all())
    assert not bool(start.proved.any())


def test_infeasible_answers_are_proved_by_a_listing() -> None:
    program = Program(lambda a, b: a + b, Categorical([range(3), range(3)]))
    for inverse in (Table(program), Enumeration(program.space, program)):
        start = inverse.start(program.encode([4, 5]), seed=0)
        assert start.found.tolist() == [True, False]
        assert start.proved.tolist() == [True, True]


def test_too_large_a_table_is_refused_before_any_work() -> None:
    called = []
    program = Program(lambda *z: called.append(z) or 0, Categorical([range(10)] * 9))  # type: ignore[func-returns-value]
    with pytest.raises(InverseError, match=r"1,000,000,000 states and take 10 GB; the limit is 1\.07 GB.*enumeration"):
        Table(program)
    assert not called


def test_too_many_combinations_are_refused() -> None:
    program = formula_program(11)
    inverse = Enumeration(program.space, program, cap=10_000)
    with pytest.raises(InverseError, match="59,049 combinations"):
        inverse.fibre(torch.zeros(1, 11, dtype=torch.long), program.encode([1]), Dropped(torch.arange(5)[None]))


def test_an_alphabet_larger_than_a_block_still_finds_a_start() -> None:
    space = Categorical([range(20_000)] * 2)
    assert [space.combinations(d) for d in range(3)] == [1, 20_000, 400_000_000]
    program = Program(lambda a, b: (a + b) % 7, space, vectorised=True)
    start = Enumeration(space, program).start(program.encode([3]), seed=0)
    assert start.found.tolist() == [True]
    assert int(start.z.sum()) % 7 == 3


def test_first_states_do_not_depend_on_how_many_are_tried_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow rule is asked about few examples at a time, so that one sees how far it is."""
    space = Categorical([range(10)] * 6)
    rule = Program(lambda *digits: sum(digits) % 25, space)
    y, said = rule.encode([3, 24, 20, 7] * 4), dict[float, list[str]]()
    found = {}
    for quick in (0.0, 60.0):
        monkeypatch.setattr("softground.inverses.enumeration.QUICK", quick)
        monkeypatch.setattr("softground.preparing.PATIENCE", 0.0)
        monkeypatch.setattr("softground.preparing.PAUSE", 0.0)
        with watched(said.setdefault(quick, []).append):
            found[quick] = Enumeration(space, rule).start(y, 5)
    assert torch.equal(found[0.0].z, found[60.0].z)
    assert bool(found[0.0].found.all())
    assert bool(rule.feasible(found[0.0].z, y).all())
    assert len(said[0.0]) > len(said[60.0])


def test_an_inverse_without_a_law_says_which_have_one() -> None:
    rule = Program(lambda a, b, c: a + b + c, Categorical([range(4)] * 3))

    class Blind(Enumeration):
        set = Inverse.set  # type: ignore[assignment]

    target = Target(rule.space.uniform(1, torch.device("cpu")), rule.encode([5]), 1.0)
    blind = Blind(rule.space, rule)
    with pytest.raises(InverseError, match="Use a table, a listing or a scan"):
        blind.law(target)
    assert most_probable(blind, target) is None


class Fresh:
    """A projection of one's own that makes a new tensor for every step."""

    def __init__(self, sites: tuple[int, ...]) -> None:
        self.sites = sites

    def draw(self, dice: object, batch: int, device: torch.device) -> Dropped:
        return Dropped(torch.tensor(self.sites, device=device).expand(batch, -1), shared=True)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_a_projection_with_fresh_tensors_fills_no_cache(problem: Problem) -> None:
    inverse, states = problem.table, problem.states
    y = problem.program.encode([problem.answer]).expand(len(states))
    for drop in problem.drops:
        fixed = Drop(problem.space, drop).draw(None, len(states), states.device)  # type: ignore[arg-type]
        known = inverse.fibre(states, y, fixed)
        remembered = len(inverse._folded)
        for _ in range(3):
            fibre = inverse.fibre(states, y, Fresh(drop).draw(None, len(states), states.device))
            for row in range(len(states)):
                assert torch.equal(fibre.values[row][fibre.mask[row]], known.values[row][known.mask[row]])
        assert len(inverse._folded) == remembered
        inverse.fibre(states, y, Drop(problem.space, drop).draw(None, len(states), states.device))  # type: ignore[arg-type]
        assert len(inverse._folded) == remembered  # another projection with the same set


def test_two_batches_drop_what_each_drops() -> None:
    rows = Dropped(torch.tensor([[0], [2]]))
    assert rows.twice().sites.tolist() == [[0], [2], [0], [2]]
    assert rows.kept(3).tolist() == [[False, True, True], [True, True, False]]
    shared = Drop(Categorical([range(3)] * 3), [1]).draw(None, 2, torch.device("cpu"))  # type: ignore[arg-type]
    assert shared.twice().sites.tolist() == [[1]] * 4
    assert (shared.twice().shared, shared.twice().key) == (True, (1,))


def test_old_methods_are_called_with_a_warning_and_refused_where_they_are_written() -> None:
    problem = PROBLEMS[0]
    y = problem.program.encode([problem.answer])
    with pytest.warns(DeprecationWarning, match=r"softground\.inverses\.solutions\(inverse"):
        found = problem.table.solutions(y)
    assert torch.equal(found.index, solutions(problem.table, y).index)
    with pytest.raises(InverseError, match=r"Old\.most_probable would never be called.*mode_by_search\.register"):
        type("Old", (Enumeration,), {"most_probable": lambda self, target: None})
    with pytest.raises(AttributeError, match="'Table' object has no attribute 'lost'"):
        problem.table.lost  # noqa: B018
