"""Inverses and kernels of Sudoku by name; the inverse for boards too many to list, by search.

**4×4.** The paper's projection keeps the two diagonal sub-boards and drops the anti-diagonal two; the walk switches two
digits inside a kept one. What is kept then has exactly one completion or none, so here the paper's kernel happens to
be exact for Q*, but five proposals in nine fail. ``collapsed`` and ``guided`` keep one random sub-board per step and
sum over all 12 completions: a spectral gap of 0.4 against 0.007 on a random belief.
"""

import math
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...constraints import Program
from ...errors import InverseError
from ...inverses import Listing
from ...inverses.base import Fibre, Inverse, Start, mode_by_search, pinned
from ...kernels import KERNELS, DirectWalk, Kernel, Metropolis, Uniform
from ...projections import Drop, RandomDrop, SwapInside, SwapSymbols, Walk
from ...projections.base import Dropped
from ...registry import Registry
from ...spaces.categorical import Categorical, CategoricalBelief
from ...target import Target
from ...task import Task
from .boards import LARGEST_LISTED, all_boards, random_boards
from .rule import box_side, boxes, sudoku_program, sudoku_smt, sudoku_space
from .search import each_most_probable, solutions

BOARD_INVERSES: Registry[Callable[..., Inverse]] = Registry("inverse")


class Completion(Inverse):
    """Valid boards of any size, without a table. A fibre with more than ``cap`` completions is cut and incomplete.

    >>> Completion(9)
    Completion(9×9 boards)
    """

    def __init__(self, size: int, *, cap: int = 64) -> None:
        self.size, self.cap = size, cap
        self.constraint = sudoku_program(size)
        self.space = self.constraint.space

    def __repr__(self) -> str:
        return f"Completion({self.size}×{self.size} boards)"

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        clues = torch.where(dropped.kept(z.shape[1]), z, -1).tolist()
        found = [list(islice(solutions(self.size, row), self.cap + 1)) for row in clues]
        count = torch.tensor([min(len(boards), self.cap) for boards in found], device=z.device)
        values = torch.zeros(len(z), max(1, *count.tolist()), dropped.count, dtype=torch.long, device=z.device)
        for row, boards in enumerate(found):
            cells = torch.tensor(sorted(boards[: self.cap]), dtype=torch.long, device=z.device).view(-1, z.shape[1])
            values[row, : len(cells)] = cells[:, dropped.sites[row]]
        complete = torch.tensor([len(boards) <= self.cap for boards in found], device=z.device)
        mask = torch.arange(values.shape[1], device=z.device) < count[:, None]
        return Fibre(values, mask, complete)

    def start(self, y: Tensor, seed: int) -> Start:
        """A random valid board for each example (see :mod:`.boards`); no label is looked at."""
        if bool((y < 0).any()):
            raise InverseError(
                "Boards that are not valid, or about which nothing is known, were given; this inverse completes valid "
                "boards. Use a listing (boards of 4×4) or the Z3 inverse."
            )
        boards = random_boards(self.size, len(y), np.random.default_rng(seed))
        true = torch.ones(len(y), dtype=torch.bool, device=y.device)
        return Start(torch.from_numpy(boards).to(y.device), true, true)


@pinned.register
def _(inverse: Completion, y: Tensor, seed: int, known: Tensor) -> Start:
    """A random valid board with the known digits for each example, by search."""
    rng = np.random.default_rng(seed)
    boards = [next(solutions(inverse.size, row, rng), None) for row in known.tolist()]
    z = torch.tensor([board or [0] * inverse.size**2 for board in boards], device=y.device)
    found = torch.tensor([board is not None for board in boards], device=y.device)
    return Start(z, found, torch.ones_like(found))


@mode_by_search.register
def _(inverse: Completion, target: Target[CategoricalBelief]) -> Tensor | None:
    """The most probable board by best-first search (:mod:`.search`); the network's own reading if that gives up."""
    if bool((target.answers < 0).any()):  # not valid, or nothing is known
        return None
    best = target.weights.mode()
    wrong = (~inverse.feasible(best, target.answers)).nonzero().flatten()
    every = [range(inverse.size**2)] * len(wrong)
    searched = each_most_probable(inverse.size, target.weights.scores[wrong], every)
    for row, found in zip(wrong.tolist(), searched, strict=True):
        if found is not None:
            best[row] = torch.tensor(found[1], device=best.device)
    return best


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
