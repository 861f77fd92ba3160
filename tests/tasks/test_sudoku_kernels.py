"""Kernels on Sudoku: transition matrices on the 288 boards of 4×4 against Q*."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from exhaustive import reaches_everything, transition_matrix
from softground.dice import Sampler
from softground.errors import LearnerError, ProjectionError
from softground.kernels import Collapsed, Kernel
from softground.projections import Drop, Dropped, SwapInside, SwapSymbols
from softground.spaces import Categorical
from softground.tasks.sudoku import sudoku_task
from softground.tasks.sudoku.rule import boxes
from softground.tasks.sudoku.walks import diagonal
from sudoku_cases import BOARDS, LISTING, SPACE, board_kernel, law, target

TASK = sudoku_task(4)
TOLERANCE = 1e-12


def matrix(kernel: Kernel, gamma: float) -> torch.Tensor:
    return transition_matrix(kernel, BOARDS, lambda batch: target(batch, gamma), SPACE)


@pytest.mark.parametrize("name", ["metropolis", "uniform"])
def test_leaves_the_softened_grounding_invariant(name: str) -> None:
    step, q = matrix(board_kernel(name, TASK, False), 0.7), law(0.7)
    assert torch.allclose(step.sum(1), torch.ones(288, dtype=torch.float64), atol=TOLERANCE, rtol=0)
    assert float((q @ step - q).abs().max()) < TOLERANCE
    assert reaches_everything(step)


def test_the_collapsed_kernel_leaves_it_invariant() -> None:
    # Its projection keeps a random one of the four boxes: the mixture of four kernels, of which one is walked through.
    kept_one = Collapsed(LISTING, Drop(SPACE, sorted(set(range(16)) - set(boxes(4)[1]))), SwapInside(SPACE, boxes(4)))
    step, q = matrix(kept_one, 0.7), law(0.7)
    assert float((q @ step - q).abs().max()) < TOLERANCE
    assert reaches_everything(step)


def fits(states: torch.Tensor, q: torch.Tensor) -> bool:
    """χ² of drawn boards against their law, boards that are expected less than 5 times taken together."""
    index = torch.searchsorted(SPACE.index(BOARDS), SPACE.index(states))
    counts, expected = torch.bincount(index, minlength=288).double(), len(states) * q
    often = expected >= 5
    counts = torch.cat([counts[often], counts[~often].sum()[None]])
    expected = torch.cat([expected[often], expected[~often].sum()[None]])
    degrees = len(counts) - 1
    return float(((counts - expected) ** 2 / expected).sum()) < degrees + 5 * math.sqrt(2 * degrees)


def test_the_exact_kernel_draws_from_it() -> None:
    # All rows of its matrix are Q* itself; walking through them would take 288² paths.
    exact, q = board_kernel("exact", TASK, True), law(0.7)
    goal = replace(target(4_000, 0.7), answers=TASK.constraint.encode([True] * 4_000))
    state, info = exact.step(Sampler(0), BOARDS[:1].expand(4_000, -1), goal)
    assert fits(state, q)
    expected = (q[:, None, None] * torch.nn.functional.one_hot(BOARDS, 4)).sum(0)
    assert info.marginals is not None
    assert torch.allclose(info.marginals[0], expected, atol=1e-12)


def test_the_crude_walk_keeps_the_law_but_reaches_relabellings_only() -> None:
    step, q = matrix(board_kernel("mcmc", TASK, False), 0.7), law(0.7)
    assert float((q @ step - q).abs().max()) < TOLERANCE
    assert int((torch.linalg.matrix_power(step, 64)[0] > 0).sum()) == 24  # 4! of 288


def test_the_guided_kernel_samples_the_law() -> None:
    """Too many paths to walk through all: long runs of many chains against Q*, from draws of Q* itself."""
    kernel = board_kernel("guided", TASK, False)
    q, chains, dice = law(1.0), 4_000, Sampler(1)
    start = torch.multinomial(q, chains, replacement=True, generator=torch.Generator().manual_seed(0))
    state, moved = BOARDS[start], torch.zeros(chains)
    for _ in range(3):
        state, info = kernel.step(dice, state, target(chains, 1.0))
        moved += info.moved
    assert fits(state, q)
    assert not fits(BOARDS[torch.randint(288, (chains,), generator=torch.Generator().manual_seed(0))], q)
    assert float(moved.mean()) > 0.1


def test_the_papers_projection_leaves_one_completion_or_none() -> None:
    y, dropped = torch.zeros(288, dtype=torch.long), torch.tensor(diagonal(SPACE, 4).sites).expand(288, -1)
    assert dropped[0].tolist() == [2, 3, 6, 7, 8, 9, 12, 13]
    assert LISTING.fibre(BOARDS, y, Dropped(dropped)).count.unique().tolist() == [1]
    moved = SwapInside(SPACE, boxes(4)).propose(Sampler(0), BOARDS, torch.ones_like(BOARDS, dtype=torch.bool))
    assert set(LISTING.fibre(moved, y, Dropped(dropped)).count.tolist()) == {0, 1}


def test_moves_change_kept_sites_only() -> None:
    kept = torch.ones_like(BOARDS, dtype=torch.bool).scatter(1, torch.arange(4, 16).expand(288, -1), False)
    moved = SwapInside(SPACE, boxes(4)).propose(Sampler(0), BOARDS, kept)
    assert torch.equal(moved[:, 4:], BOARDS[:, 4:])
    assert bool((moved != BOARDS).any())
    none = torch.zeros_like(kept)
    assert torch.equal(SwapInside(SPACE, boxes(4)).propose(Sampler(0), BOARDS, none), BOARDS)


def test_moves_that_cannot_be_are_refused() -> None:
    mixed = Categorical([range(3), range(2)])
    with pytest.raises(ProjectionError, match="same alphabet"):
        SwapInside(mixed, [[0, 1]])
    with pytest.raises(ProjectionError, match="one alphabet"):
        SwapSymbols(mixed)
    with pytest.raises(LearnerError, match="knows all of S_y"):
        board_kernel("exact", sudoku_task(9), False)
