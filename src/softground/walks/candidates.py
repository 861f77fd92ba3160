"""The walks that are compared: what a step drops, and whether it also swaps symbols.

A family drops one of its sets at every step, and joins whatever one of them joins. First come all sets of one, two and
three sites. Where no step on these gets from solution to solution, random blocks are completed anew given the rest,
larger and larger ones as long as all their completions can be listed (block Gibbs); and symbols are swapped, all that
is a against all that is b, which joins solutions where the rule hardly cares what symbols are called.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from ..dice import Sampler
from ..inverses.base import cost
from ..kernels import Collapsed, Composed, DirectWalk, Kernel
from ..projections import ChangeOne, RandomBlock, RandomDrop, Stay, SwapSymbols
from ..task import Task
from .solutions import Sample

SMALL = (1, 2, 3)  # sites
MOST_SETS = 5_000  # of that many sites
BLOCKS = (4, 6, 8, 10, 12, 16, 24, 32)  # sites
MOST_TRIED = 1_024  # completions, where an inverse tries them one by one
SWAPS = 64  # solutions whose symbols are swapped


def small(task: Task) -> Iterator[tuple[str, RandomDrop]]:
    """All sets of few sites. A step also changes one of the sites kept."""
    sites = task.space.sites
    for size in SMALL if task.space.width > 1 else ():
        if size < sites and math.comb(sites, size) <= MOST_SETS:
            yield f"any {size}", RandomDrop(task.space, size)


def blocks(task: Task) -> Iterator[tuple[str, RandomBlock]]:
    """Random blocks of more sites. A step changes nothing else."""
    for size in BLOCKS if task.space.width > 1 else ():
        tried = 1 if cost(task.inverse) == "solver" else task.space.combinations(size)
        if size < task.space.sites and tried <= MOST_TRIED:
            yield f"{size} sites re-solved", RandomBlock(task.space, size)


def collapsed(task: Task, projection: RandomDrop | RandomBlock, change: bool) -> Collapsed:
    """The walk on a family; with ``change`` a step also changes one of the sites kept."""
    return Collapsed(task.inverse, projection, ChangeOne(task.space) if change else Stay(), marginals=True)


def swaps_solve(task: Task, sample: Sample, seed: int) -> bool:
    """Whether a swap of symbols leads from some solution to another."""
    if len(set(task.space.alphabets)) > 1 or task.space.width < 2:
        return False
    z, y = sample.rows(SWAPS, seed)
    other = SwapSymbols(task.space).propose(Sampler(seed), z, torch.ones_like(z, dtype=torch.bool))
    return bool((task.feasible(other, y) & (other != z).any(-1)).any())


def swapping(task: Task, kernel: Kernel) -> Kernel:
    """The kernel after a swap of two symbols, which is accepted or rejected by Metropolis' rule."""
    return Composed([DirectWalk(SwapSymbols(task.space), task.constraint), kernel])
