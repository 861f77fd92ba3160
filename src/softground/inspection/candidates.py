"""The projections that are compared: sets of one, two and three sites, families of them, blocks, and those given.

A fixed set is the paper's kind; a family is drawn from at every step. Blocks of many sites follow the paper's
guideline, "to drop variables that are highly correlated to others": a block grows by the site that shares most
information with it, as measured on the solutions seen. They matter where small sets have no freedom left, such as the
cells of a Sudoku.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import torch
from torch import Tensor

from ..inverses.base import Inverse
from ..kernels import Composed, Kernel
from ..projections import ChangeOne, Drop, Move, Projection, RandomDrop, Stay
from ..reals import AddNoise
from ..spaces.categorical import Categorical
from ..task import Task
from .sample import Sample, slow

FIXED = 35  # most fixed sets of a size: all of them up to 7 sites
FAMILY = 5_000  # most sets in a family
SMALL = 12  # sites up to which no blocks are needed
BLOCKS = 12  # blocks of a size
SEEN = 1_024  # solutions that information is measured on


@dataclass(frozen=True, eq=False)
class Candidate:
    """A projection with the move on what it keeps, and the inverse that completes it."""

    name: str
    projection: Projection
    sets: tuple[tuple[int, ...], ...]
    move: Move
    inverse: Inverse
    given: bool = False  # whether it is that of a kernel which was given

    @property
    def dropped(self) -> int:
        """How many sites are dropped."""
        return len(self.sets[0])

    @property
    def fixed(self) -> bool:
        """Whether the same sites are dropped at every step."""
        return len(self.sets) == 1


def candidates(task: Task, sample: Sample, kernels: Mapping[str, Kernel], seed: int) -> list[Candidate]:
    """Those of the kernels given, then families, blocks and fixed sets."""
    space = task.space
    result = [c for name, kernel in kernels.items() for c in given(name, kernel)]
    sizes = [d for d in (1, 2, 3) if d < space.sites]
    if not space.categorical:
        return result + [_family(task, f"any {d}", RandomDrop(space, d), AddNoise()) for d in sizes]
    if space.sites < 2 or space.width < 2:
        return result
    move = ChangeOne(space)
    for d in sizes:
        if 1 < comb(space.sites, d) <= FAMILY:
            result.append(_family(task, f"any {d}", RandomDrop(space, d), move))
    if space.sites > SMALL and not slow(task.inverse):
        shared = information(space, _solutions(task, sample, seed))
        for d in sorted({4, 8, 16, space.sites // 3}):
            if 3 < d < space.sites:
                result.append(_family(task, f"blocks of {d}", RandomDrop(space, correlated(shared, d)), Stay()))
    for d in sizes:
        result += [_fixed(task, sites, move) for sites in _some(space.sites, d, seed)]
    return result


def given(name: str, kernel: Kernel) -> Iterable[Candidate]:
    """The projections that a kernel walks with, each once."""
    seen: list[Any] = []
    for part in parts(kernel):
        projection = getattr(part, "projection", None)
        inverse, move = getattr(part, "inverse", None), getattr(part, "move", None) or Stay()
        sets = tuple(getattr(projection, "sets", ())) or ((projection.sites,) if isinstance(projection, Drop) else ())
        if projection is not None and inverse is not None and sets and projection not in seen:
            seen.append(projection)
            yield Candidate(name, projection, sets, move, inverse, given=True)


def parts(kernel: Any) -> Iterable[Any]:
    """A kernel's parts, if it is composed of several."""
    if isinstance(kernel, Composed):
        for part in kernel.kernels:
            yield from parts(part)
    else:
        yield kernel


def _solutions(task: Task, sample: Sample, seed: int) -> Tensor:
    """Many solutions of the first answer: dependence shows only in many."""
    first = sample.found[0]
    if first.whole:
        return first.z
    start = task.inverse.start(first.y.expand(SEEN, *first.y.shape[1:]), seed)
    return start.z[start.found]


def correlated(shared: Tensor, size: int) -> list[tuple[int, ...]]:
    """Blocks of ``size`` sites that share much information (``shared``), each begun at another site."""
    blocks = []
    for first in sorted(set(torch.linspace(0, len(shared) - 1, BLOCKS).long().tolist())):
        block = [first]
        while len(block) < size:
            gain = shared[block].sum(0)
            gain[block] = -1.0
            block.append(int(gain.argmax()))
        blocks.append(tuple(sorted(block)))
    return sorted(set(blocks))


def information(space: Categorical, z: Tensor) -> Tensor:
    r"""Mutual information :math:`\sum p(s, t) \log \frac{p(s, t)}{p(s) p(t)}` of each pair of sites on the states z."""
    n, width = space.sites, space.width
    hot = torch.nn.functional.one_hot(z, width).double().flatten(1)
    joint = (hot.T @ hot / len(z)).view(n, width, n, width).transpose(1, 2)
    alone = hot.mean(0).view(n, width)
    apart = alone[:, None, :, None] * alone[None, :, None, :]
    ratio = torch.where(joint > 0, joint / apart.clamp(min=1e-300), 1.0)
    return (joint * ratio.log()).sum((2, 3))


def _family(task: Task, name: str, projection: RandomDrop, move: Move) -> Candidate:
    return Candidate(name, projection, tuple(projection.sets), move, task.inverse)


def _fixed(task: Task, sites: tuple[int, ...], move: Move) -> Candidate:
    shown = "site" if len(sites) == 1 else "sites"
    name = f"{shown} {', '.join(map(str, sites))}"
    return Candidate(name, Drop(task.space, sites), (sites,), move, task.inverse)


def _some(sites: int, d: int, seed: int) -> list[tuple[int, ...]]:
    """All sets of d sites, or as many random ones as are looked at."""
    if comb(sites, d) <= FIXED:
        return list(combinations(range(sites), d))
    generator = torch.Generator().manual_seed(seed)
    drawn = {tuple(sorted(torch.randperm(sites, generator=generator)[:d].tolist())) for _ in range(FIXED // 3)}
    return sorted(drawn)
