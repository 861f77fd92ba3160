"""In which sites do neighbouring solutions differ? What changes together has to be dropped together.

From a solution z some sites are dropped at random, few at first, and completed in all ways: every completion z′ ≠ z is
a neighbour, and the sites where it differs from z are a set worth dropping. Sets that hold a smaller one are left out:
they are several moves in one. In a grid of row and column sums, what is left are the corners of rectangles, four sites
each, which a random set of four hardly ever is.
"""

from __future__ import annotations

from collections import Counter

import torch

from ..errors import SoftgroundError
from ..projections.base import Dropped
from ..task import Task
from .solutions import Sample
from .time_limit import TimeLimit

DROPPED = (2, 3, 4, 5, 6, 8, 10)  # sites at a time
ROWS = {"tensor": 64, "solver": 16}  # solutions whose neighbours are looked for, by what an inverse costs
SIZES, SETS = 2, 200  # of sets that are compared: the smallest ones, the most frequent of each

MORE = 2  # dropped sites beyond the smallest set that was found
AGAIN = {"tensor": 16, "solver": 4}  # more rounds, at most

Sets = dict[int, list[tuple[int, ...]]]


def differences(task: Task, sample: Sample, limit: TimeLimit, seed: int) -> Sets:
    """Sets of sites by their size, the smallest sizes that were found.

    Once some were found, as many sites and two more are dropped again and again, until that finds nothing new.
    """
    sites, chance, seen = task.space.sites, torch.Generator().manual_seed(seed), Counter[tuple[int, ...]]()
    sizes = [d for d in DROPPED if d < sites]
    each = 0.0  # seconds that a combination of the dropped sites took in the last round, where they are tried
    for turn in range(len(sizes) + AGAIN[task.inverse.cost] if sizes else 0):
        enough = sizes[-1] if not seen else min(sizes[-1], min(map(len, seen)) + MORE)
        size, before = min(sizes[min(turn, len(sizes) - 1)], enough), smallest(seen)
        many = task.space.combinations(size)
        if turn and not limit.room(each * many):
            break
        began = limit.clock()
        try:
            seen += neighbours(task, sample, size, seed + turn, chance, limit)
        except SoftgroundError:  # more sites than the inverse can complete
            break
        each = (limit.clock() - began) / many if task.inverse.cost == "tensor" else 0.0
        if before and size == enough and before == smallest(seen):
            break
    return smallest(seen)


def neighbours(
    task: Task, sample: Sample, size: int, seed: int, chance: torch.Generator, limit: TimeLimit
) -> Counter[tuple[int, ...]]:
    """Where completions of some solutions, with ``size`` random sites dropped from each, differ from them."""
    z, y = sample.rows(ROWS[task.inverse.cost], seed)
    dropped = Dropped(torch.rand(z.shape, generator=chance).argsort(1)[:, :size].sort(1).values)
    seen = Counter[tuple[int, ...]]()
    for rows in limit.batches(len(z)):
        fibre, sites = task.inverse.fibre(z[rows], y[rows], dropped.rows(rows)), dropped.sites[rows]
        row, option = fibre.mask.nonzero(as_tuple=True)
        changed = torch.zeros(len(row), z.shape[1], dtype=torch.bool)
        changed.scatter_(1, sites[row], fibre.values[row, option] != z[rows][row].gather(1, sites[row]))
        sets, count = torch.unique(changed, dim=0, return_counts=True)
        found = zip(sets, count.tolist(), strict=True)
        seen += Counter({tuple(one.nonzero().flatten().tolist()): often for one, often in found if bool(one.any())})
    return seen


def smallest(seen: Counter[tuple[int, ...]]) -> Sets:
    """The sets that hold no other one, of the smallest sizes.

    >>> smallest(Counter({(0, 1): 5, (2, 3): 9, (0, 1, 2): 7, (1, 2, 4): 1, (3, 4, 5, 6): 1}))
    {2: [(0, 1), (2, 3)], 3: [(1, 2, 4)]}
    """
    kept: list[frozenset[int]] = []
    sizes = sorted({len(one) for one in seen})
    found: Sets = {}
    for size in sizes:
        own = [one for one, _ in seen.most_common() if len(one) == size and not any(k <= set(one) for k in kept)]
        if own and len(found) < SIZES:
            found[size] = sorted(own[:SETS])
            kept += map(frozenset, own)
    return found
