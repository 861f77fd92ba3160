"""The projections that are compared: families of one, two and three sites, and families of blocks.

A family is drawn from at every step, and joins whatever one of its sets joins. Blocks of many sites follow the paper's
guideline, "to drop variables that are highly correlated to others": a block grows by the site that shares most
information with it, as measured on the solutions seen. They matter where small sets have no freedom left, such as the
cells of a Sudoku.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import torch
from torch import Tensor

from ..projections import ChangeOne, Move, RandomDrop, Stay
from ..spaces.categorical import Categorical
from ..task import Task
from .sample import Sample, slow

FAMILY = 5_000  # most sets in a family
SMALL = 12  # sites up to which no blocks are needed
BLOCKS = 12  # blocks of a size
SEEN = 1_024  # solutions that information is measured on


@dataclass(frozen=True, eq=False)
class Candidate:
    """A projection, and the move on what it keeps."""

    name: str
    projection: RandomDrop
    move: Move

    @property
    def dropped(self) -> int:
        """How many sites are dropped."""
        return len(self.projection.sets[0])


def candidates(task: Task, sample: Sample, seed: int) -> list[Candidate]:
    """Families of small sets, and of blocks where the space is large."""
    space, sites = task.space, task.space.sites
    if sites < 2 or space.width < 2:
        return []
    small = [d for d in (1, 2, 3) if d < sites and comb(sites, d) <= FAMILY]
    result = [Candidate(f"any {d}", RandomDrop(space, d), ChangeOne(space)) for d in small]
    if sites > SMALL and not slow(task.inverse):
        first = sample.found[0]
        start = task.inverse.start(first.y.expand(SEEN, *first.y.shape[1:]), seed)
        shared = information(space, first.z if first.whole else start.z[start.found])
        for d in sorted({4, 8, 16, sites // 3}):
            if 3 < d < sites:
                blocks = correlated(shared, d)
                result.append(Candidate(f"{len(blocks)} blocks of {d}", RandomDrop(space, blocks), Stay()))
    return result


def correlated(shared: Tensor, size: int) -> list[tuple[int, ...]]:
    """Blocks of ``size`` sites that share much information (``shared``), each begun at another site."""
    blocks = set()
    for first in set(torch.linspace(0, len(shared) - 1, BLOCKS).long().tolist()):
        block = [first]
        while len(block) < size:
            gain = shared[block].sum(0)
            gain[block] = -1.0
            block.append(int(gain.argmax()))
        blocks.add(tuple(sorted(block)))
    return sorted(blocks)


def information(space: Categorical, z: Tensor) -> Tensor:
    r"""Mutual information :math:`\sum p(s, t) \log \frac{p(s, t)}{p(s) p(t)}` of each pair of sites on the states z."""
    n, width = space.sites, space.width
    hot = torch.nn.functional.one_hot(z, width).double().flatten(1)
    joint = (hot.T @ hot / len(z)).view(n, width, n, width).transpose(1, 2)
    alone = hot.mean(0).view(n, width)
    apart = alone[:, None, :, None] * alone[None, :, None, :]
    ratio = torch.where(joint > 0, joint / apart.clamp(min=1e-300), 1.0)
    return (joint * ratio.log()).sum((2, 3))
