"""Inverses and kernels of Sudoku by name.

**4×4.** The paper's projection keeps the two diagonal sub-boards and drops the anti-diagonal two; the walk switches two
digits inside a kept one. What is kept then has exactly one completion or none, so here the paper's kernel happens to
be exact for Q*, but five proposals in nine fail. ``collapsed`` and ``guided`` keep one random sub-board per step and
sum over all 12 completions: a spectral gap of 0.4 against 0.007 on a random belief.
"""

import math
from collections.abc import Callable
from typing import Any

import torch

from ...constraints import Program
from ...inverses import Inverse, Listing
from ...kernels import KERNELS, DirectWalk, Kernel, Metropolis, Uniform
from ...projections import Drop, RandomDrop, SwapInside, SwapSymbols, Walk
from ...registry import Registry
from ...spaces.categorical import Categorical
from ...task import Task
from .boards import LARGEST_LISTED, all_boards
from .completion import Completion
from .rule import box_side, boxes, sudoku_smt, sudoku_space

BOARD_INVERSES: Registry[Callable[..., Inverse]] = Registry("inverse")


@BOARD_INVERSES.register("auto")
def _auto(program: Program, **solver: Any) -> Inverse:
    """All boards of 4×4; larger ones are searched for."""
    return BOARD_INVERSES["listing" if math.isqrt(program.space.sites) <= LARGEST_LISTED else "search"](program)


@BOARD_INVERSES.register("listing")
def _listing(program: Program, **solver: Any) -> Inverse:
    return Listing(program.space, torch.from_numpy(all_boards(math.isqrt(program.space.sites))))


@BOARD_INVERSES.register("search")
def _search(program: Program, **solver: Any) -> Inverse:
    return Completion(math.isqrt(program.space.sites))


@BOARD_INVERSES.register("z3")
def _z3(program: Program, **solver: Any) -> Inverse:
    from ...inverses.z3 import Z3

    return Z3(sudoku_smt(math.isqrt(program.space.sites), program.space), cap=512, **solver)


def board_walk(size: int, task: Task) -> Walk:
    """The projections and the move that suit the board's size."""
    space = task.space
    one_box = RandomDrop(space, [sorted(set(range(size**2)) - set(box)) for box in boxes(size)])  # keeps one box
    return Walk(task.inverse, space, diagonal(space, size), one_box, SwapInside(space, boxes(size)))


def _size(walk: Walk) -> int:
    return math.isqrt(walk.space.sites)


def _paper(walk: Walk, marginals: bool) -> Kernel:
    """The paper's walk switches two digits inside a kept box."""
    size = _size(walk)
    return Metropolis(walk.inverse, walk.drop, SwapInside(sudoku_space(size), boxes(size)))


BOARD_KERNELS = KERNELS | {
    "metropolis": _paper,
    "mcmc": lambda walk, marginals: DirectWalk(SwapSymbols(sudoku_space(_size(walk)))),
    "uniform": lambda walk, marginals: Uniform(walk.inverse, walk.drop, walk.move),
}


def diagonal(space: Categorical, size: int) -> Drop:
    """Keep the boxes on the diagonal: the paper's projection for 4×4."""
    n = box_side(size)
    return Drop(space, sorted(c for i, box in enumerate(boxes(size)) if i % (n + 1) for c in box))
