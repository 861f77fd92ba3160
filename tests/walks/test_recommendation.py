"""Where no small set of dropped sites leads anywhere: blocks are re-solved, symbols are swapped, and trials counted."""

from __future__ import annotations

import math
import re
from typing import Any

import cpmpy as cp
import pytest
import torch

import softground as sg
from softground.dice import Sampler
from softground.errors import CheckpointError
from softground.projections import RandomBlock
from softground.target import Target
from softground.walks import ranking, recommend
from softground.walks.recommendation import rebuilt
from softground.walks.solutions import take
from softground.walks.time_limit import TimeLimit

SQUARE = sg.Categorical([range(3)] * 9)
CODES = sg.Categorical([range(3)] * 6)


def latin() -> sg.Task:
    """Latin squares of order three: any two of the twelve differ in six cells or more."""
    lines = [range(3 * i, 3 * i + 3) for i in range(3)] + [range(i, 9, 3) for i in range(3)]
    return sg.Task(SQUARE, sg.CPMpy(lambda z, y: [cp.AllDifferent([z[i] for i in line]) for line in lines], SQUARE))


def repeated() -> sg.Task:
    """One symbol, six times: only all sites together can change."""
    return sg.Task(CODES, sg.CPMpy(lambda z, y: [z[0] == z[i] for i in range(1, 6)], CODES))


def described(kernel: sg.kernels.Kernel) -> str:
    return re.sub(" at 0x[0-9a-f]+", "", repr(kernel))


def moves(task: sg.Task, kernel: sg.kernels.Kernel) -> bool:
    """Whether a step leads from some solution to another."""
    y = task.constraint.encode([True] * 8)
    z, dice = task.inverse.start(y, 0).z, Sampler(0)
    target: Target[Any] = Target(task.space.uniform(8, z.device), y, math.inf)
    after = z
    for _ in range(4):
        after, _ = kernel.step(dice, after, target)
    assert bool(task.feasible(after, y).all())
    return bool((after != z).any())


def test_blocks_are_resolved_where_small_sets_lead_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "small", lambda task: [])
    best = recommend(task := latin(), [True], seconds=60.0)
    assert isinstance(best.projection, RandomBlock)
    assert best.projection.size == 8  # blocks of six hardly ever hold two rows
    assert best.kept is not None
    assert (best.kept["dropped"], best.kept["block"], best.kept["swaps"]) == (8, True, False)
    assert moves(task, best.kernel)
    assert described(rebuilt(task, best.kept).kernel) == described(best.kernel)


def test_symbols_are_swapped_where_no_block_moves() -> None:
    best = recommend(task := repeated(), [True], seconds=60.0)
    assert best.kept is not None
    assert best.kept["swaps"]
    assert "symbols swapped" in best.reasons[1]
    assert moves(task, best.kernel)
    assert not moves(task, rebuilt(task, best.kept | {"swaps": False}).kernel)
    assert described(rebuilt(task, best.kept).kernel) == described(best.kernel)
    with pytest.raises(CheckpointError, match="cannot be read: KeyError\\('swaps'\\)"):
        rebuilt(task, {name: value for name, value in best.kept.items() if name != "swaps"})


def test_the_clock_decides_nothing_unless_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that stands still, and on one that runs, the same trials give the same choice."""
    task, before = repeated(), TimeLimit.__init__
    quick = recommend(task, [True], seconds=600.0)
    monkeypatch.setattr(
        TimeLimit, "__init__", lambda self, seconds=math.inf, clock=lambda: 0.0: before(self, seconds, clock)
    )
    assert str(recommend(task, [True], seconds=600.0)) == str(quick)
    steps = iter(range(10**9))
    monkeypatch.setattr(
        TimeLimit, "__init__", lambda self, seconds=math.inf, clock=lambda: next(steps): before(self, seconds, clock)
    )
    late = recommend(task, [True], seconds=3.0)
    assert late.reasons[-1].startswith("The trials were ended after 3 s")
    assert late.kept is not None
    assert late.kept["reasons"] == list(late.reasons)


def test_a_swap_is_not_tried_where_no_solution_is_another_ones_swap() -> None:
    space = sg.Categorical([range(4)] * 2)
    task = sg.Task(space, sg.CPMpy(lambda z, y: z[0] + 2 * z[1] == y, space))
    sample = take(task, [5], 1, 0, TimeLimit())
    (walk, *_) = ranking.ranking(task, sample, {}, TimeLimit(), 0)
    assert not ranking.swapped(task, sample, walk, TimeLimit(), 0)
    equal = repeated()
    sample = take(equal, [True], 1, 0, TimeLimit())
    (walk, *_) = ranking.ranking(equal, sample, {}, TimeLimit(), 0)
    assert walk.swaps
    assert torch.equal(sample.found[0].z, torch.arange(3)[:, None].expand(3, 6))
