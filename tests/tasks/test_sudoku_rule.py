"""The rule of Sudoku: predicate, Z3 formula and lists of boards say the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from softground.constraints import Not
from softground.dice import Sampler
from softground.errors import SpaceError
from softground.inverses import solutions
from softground.inverses.z3 import Z3
from softground.projections import Dropped, SwapInside
from softground.tasks.sudoku.boards import all_boards, random_boards
from softground.tasks.sudoku.rule import boxes, groups, sudoku_program, sudoku_smt
from softground.tasks.sudoku.walks import Completion
from sudoku_cases import BOARDS


def nearly_valid(size: int, count: int) -> torch.Tensor:
    """Valid boards of which every other has one or two cells changed, or two cells switched."""
    rng = np.random.default_rng(0)
    z = random_boards(size, count, rng)
    for row in range(1, count, 2):
        cells = rng.integers(0, size**2, 1 + row % 3 // 2)
        z[row, cells] = rng.integers(0, size, len(cells))
    for row in range(3, count, 4):
        a, b = rng.integers(0, size**2, 2)
        z[row, [a, b]] = z[row, [b, a]]
    return torch.from_numpy(z)


@pytest.mark.parametrize("size", [4, 9])
def test_predicate_equals_the_z3_formula(size: int) -> None:
    program, smt = sudoku_program(size), sudoku_smt(size)
    anything = torch.randint(size, (20, size**2), generator=torch.Generator().manual_seed(0))
    z = torch.cat([nearly_valid(size, 60), anything])
    y = torch.zeros(len(z), dtype=torch.long)
    fine = program.feasible(z, y)
    assert torch.equal(fine, smt.feasible(z, y))
    assert torch.equal(fine, program.admissible(z))
    by_hand = [all(sorted(board[g]) == list(range(size)) for g in groups(size)) for board in z.numpy()]
    assert fine.tolist() == by_hand
    assert 0 < int(fine.sum()) < len(z)


def test_sixteen_by_sixteen_boards_are_understood() -> None:
    grid = np.array([[(4 * (r % 4) + r // 4 + c) % 16 for c in range(16)] for r in range(16)])
    z = torch.from_numpy(np.stack([grid.reshape(-1), grid[::-1, ::-1].reshape(-1), np.zeros(256, dtype=np.int64)]))
    y = torch.zeros(3, dtype=torch.long)
    assert sudoku_program(16).feasible(z, y).tolist() == [True, True, False]
    assert sudoku_smt(16).feasible(z, y).tolist() == [True, True, False]


def test_the_list_of_boards_is_z3s() -> None:
    smt = sudoku_smt(4)
    all_states = solutions(Z3(smt, solutions_cap=300), torch.zeros(1, dtype=torch.long))
    assert torch.equal(all_states.index.sort().values, smt.space.index(BOARDS))


@pytest.mark.parametrize("size", [4, 9])
def test_random_boards_are_valid_and_reproducible(size: int) -> None:
    boards = random_boards(size, 40, np.random.default_rng(3))
    assert bool(sudoku_program(size).feasible(torch.from_numpy(boards), torch.zeros(40, dtype=torch.long)).all())
    assert np.array_equal(boards, random_boards(size, 40, np.random.default_rng(3)))
    assert len(np.unique(boards, axis=0)) > 20


def test_random_boards_of_four_are_uniform() -> None:
    boards = random_boards(4, 28_800, np.random.default_rng(0))
    _, counts = np.unique(boards, axis=0, return_counts=True)
    assert len(counts) == 288
    assert abs(((counts - 100) ** 2 / 100).sum() - 287) < 5 * (2 * 287) ** 0.5  # χ²


def test_sizes_that_are_no_squares_are_refused() -> None:
    for size in (0, 1, 6, 8):
        with pytest.raises(SpaceError, match="square number"):
            sudoku_program(size)
    with pytest.raises(SpaceError, match="too many to list"):
        all_boards(9)


def proposals(size: int, count: int) -> torch.Tensor:
    """Half valid boards, half with two digits of a box switched."""
    space = sudoku_program(size).space
    z = torch.from_numpy(random_boards(size, count, np.random.default_rng(1)))
    moved = SwapInside(space, boxes(size)).propose(Sampler(0), z, torch.ones_like(z, dtype=torch.bool))
    return torch.cat([z, moved])


@pytest.mark.parametrize(("size", "dropped"), [(4, [2, 3, 6, 7, 8, 9, 12, 13]), (4, range(4, 16)), (9, range(9, 27))])
def test_search_finds_the_fibres_of_z3(size: int, dropped: Sequence[int]) -> None:
    z = proposals(size, 6)
    y, sites = torch.zeros(len(z), dtype=torch.long), torch.tensor(list(dropped)).expand(len(z), -1)
    ours, theirs = (
        Completion(size, cap=512).fibre(z, y, Dropped(sites)),
        Z3(sudoku_smt(size), cap=512).fibre(z, y, Dropped(sites)),
    )
    assert bool(ours.complete.all())
    assert bool(theirs.complete.all())
    assert torch.equal(ours.count, theirs.count)
    for row in range(len(z)):
        assert torch.equal(ours.values[row][ours.mask[row]], theirs.values[row][theirs.mask[row]])


def test_a_cut_fibre_says_so_and_stays_feasible() -> None:
    z = proposals(9, 4)[:4]
    sites, y = torch.arange(27, 81).expand(4, -1), torch.zeros(4, dtype=torch.long)
    fibre = Completion(9, cap=16).fibre(z, y, Dropped(sites))
    assert not bool(fibre.complete.any())
    wide = z[:, None].expand(-1, fibre.mask.shape[1], -1)
    found = wide.scatter(2, sites[:, None].expand_as(fibre.values), fibre.values)[fibre.mask]
    assert len(found) == 64
    assert bool(sudoku_program(9).feasible(found, torch.zeros(len(found), dtype=torch.long)).all())


def test_the_groups_are_the_parts() -> None:
    program = sudoku_program(4)
    parts = program.parts()
    assert [list(part.sites) for part in parts] == groups(4)
    assert len({part.rule for part in parts}) == 1
    z = torch.cat(
        [torch.from_numpy(all_boards(4)), torch.randint(4, (500, 16), generator=torch.Generator().manual_seed(0))]
    )
    z[300:400] = z[:100]
    z[300:400, 5] = z[300:400, 6]  # boards that break some groups only
    yes, no, unknown = program.encode([True, Not(True), None])
    hold = torch.stack([part.rule.feasible(z[:, part.sites], part.answers(yes.expand(len(z)))) for part in parts])
    assert torch.equal(hold.all(0), program.feasible(z, yes.expand(len(z))))
    assert 0 < int(hold[:, 300:400].sum()) < 1200
    for vague in (no, unknown):  # says nothing of any one group
        assert all(bool(p.rule.feasible(z[:, p.sites], p.answers(vague.expand(len(z)))).all()) for p in parts)
