"""Inverses and kernels of Sudoku by their names on the command line.

**4×4.** The paper's projection keeps the two diagonal sub-boards and drops the anti-diagonal two; the walk switches two
digits inside a kept one. What is kept then has exactly one completion or none, so here the paper's kernel happens to
be exact for Q*, but three proposals in four fail. ``collapsed`` and ``guided`` keep a single sub-board, drawn at every
step, and sum over all 12 completions: a spectral gap of 0.4 against 0.007 on a random belief.

**9×9.** The same projection (diagonal boxes kept) leaves too many completions to list, which the paper's kernel does
not mind and exact kernels cannot use. These drop a whole band or stack of three boxes instead (some 220 completions),
and do not move the rest: Gibbs steps on 27 cells. ``kempe`` needs no inverse at all; ``mixed`` follows it by a jump to
the boards that the network reads (:mod:`.confident`).
"""

from __future__ import annotations

from typing import Any, Literal

import torch

from ...errors import LearnerError
from ...inverses import Inverse, Listing
from ...kernels import Collapsed, Composed, DirectWalk, Exact, Guided, Kernel, Metropolis, Uniform
from ...projections import Drop, Projection, RandomDrop, Stay, SwapInside, SwapSymbols
from ...spaces.categorical import Categorical
from ...task import Task
from .boards import LISTED, all_boards
from .completion import Completion
from .confident import Confident
from .kempe import Kempe
from .presets import KernelName
from .rule import box_side, boxes, sudoku_smt

InverseName = Literal["auto", "listing", "search", "z3"]
ANY = 64  # completions that the paper's kernel chooses from where there are too many to list


def make_inverse(name: InverseName, size: int, space: Categorical, **solver: Any) -> Inverse:
    """An inverse by its name; auto lists the boards of 4×4 and searches for larger ones."""
    if name == "z3":
        from ...inverses.z3 import Z3

        return Z3(sudoku_smt(size, space), cap=512, **solver)
    if name == "search" or (name == "auto" and size > LISTED):
        return Completion(size)
    return Listing(space, torch.from_numpy(all_boards(size)))


def make_kernel(name: KernelName, size: int, task: Task, marginals: bool) -> Kernel:
    """A kernel by its name, with the projection and the move that suit the board's size."""
    space, inverse = task.space, task.inverse
    swap = SwapInside(space, boxes(size))
    match name:
        case "mcmc":
            return DirectWalk(SwapSymbols(space))
        case "kempe":
            return Kempe(size)
        case "mixed":
            return Composed([Kempe(size)] * (size * (size - 1) * 3 // 4) + [Confident(inverse, size**2 // 3)])
        case "metropolis":
            sampled = Completion(size, cap=ANY, partial=True) if isinstance(inverse, Completion) else inverse
            return Metropolis(sampled, diagonal(space, size), swap)
        case "exact":
            if not inverse.exact:
                raise LearnerError(
                    f"The exact kernel lists all boards; the inverse is {inverse!r}. Use --size 4 with --inverse "
                    "listing, or --kernel kempe."
                )
            return Exact(inverse, marginals)
    listed = size <= LISTED
    if name == "uniform":
        return Uniform(inverse, diagonal(space, size), swap) if listed else Uniform(inverse, bands(space, size), Stay())
    family = one_box(space, size) if listed else bands(space, size)
    if name == "guided":
        return Guided(inverse, family, marginals)
    return Collapsed(inverse, family, swap if listed else Stay(), marginals)


def diagonal(space: Categorical, size: int) -> Drop:
    """Keep the boxes on the diagonal: the paper's projection for 4×4."""
    n = box_side(size)
    return Drop(space, sorted(c for i, box in enumerate(boxes(size)) if i % (n + 1) for c in box))


def one_box(space: Categorical, size: int) -> Projection:
    """Keep one random box."""
    return RandomDrop(space, [sorted(set(range(size**2)) - set(box)) for box in boxes(size)])


def bands(space: Categorical, size: int) -> Projection:
    """Drop the boxes of one random band or stack."""
    n, of = box_side(size), boxes(size)
    lines = [[n * i + j for j in range(n)] for i in range(n)] + [[n * i + j for i in range(n)] for j in range(n)]
    return RandomDrop(space, [sorted(c for box in line for c in of[box]) for line in lines])
