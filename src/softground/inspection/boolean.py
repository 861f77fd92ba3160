r"""Boolean rules: maps that may also exchange variables, as rsbench counts them.

A map sends every true variable to one predicted variable, no two to the same, and each of its two values to a value of
that one: a permutation of the n variables and, for each, one of four value maps: identity, negation, constant 0,
constant 1. Counted are those under which every observed input keeps its label, **the intended map among them**; an
input whose variables are known must be mapped to itself. Without the permutations the same maps are those of a head for
each site (:mod:`.maps`): 'fixed'.

Reference: S. Bortolotti et al., A neuro-symbolic benchmark suite for concept quality and reasoning shortcuts (rsbench),
NeurIPS 2024, whose tool ``rsscount`` this agrees with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..task import Task
from .propagation import Rows
from .search import Search
from .support import Support
from .time_limit import TimeLimit

WORK = 2**25  # images tried at most
VALUE_MAPS = torch.tensor([[0, 1], [1, 0], [0, 0], [1, 1]])  # what 0 and 1 become


@dataclass(frozen=True)
class BooleanMaps:
    """rsbench's count, the intended map included; and without permuting variables."""

    count: int
    fixed: int
    finished: bool  # False: there are at least so many
    observed: int  # inputs


class _Inputs(Rows):
    """A variable is a predicted one; its value is 4 · the true variable that it shows + the number of a value map."""

    def __init__(self, task: Task, support: Support, known: Tensor) -> None:
        self.task, self.support, self.known = task, support, known
        always = len(support) == task.space.size and bool((support.y == support.y[:1]).all() & ~known.any())
        count = 0 if always else 1  # a rule that every input meets refutes nothing
        self.scopes = np.ones((count, task.space.sites), dtype=bool)
        self.groups = [torch.arange(len(support))] * count

    def fit(self, rows: Tensor, maps: Tensor) -> Tensor:
        z, y = self.support.z[rows], self.support.y[rows]
        images = VALUE_MAPS[maps[:, None] % 4, z[:, maps // 4].transpose(0, 1)]  # [maps, rows, sites]
        fits = self.task.feasible(images.flatten(0, 1), y.repeat(len(maps), *[1] * (y.dim() - 1)))
        itself = ~self.known[rows] | (images == z).all(-1)
        return fits.view(images.shape[:2]) & itself


def boolean_maps(task: Task, support: Support, limit: TimeLimit, known: Sequence[int] = ()) -> BooleanMaps | None:
    """Count them; the inputs ``known`` of the support have known variables. None where a site is not Boolean,
    or only some of what occurs is known."""
    sites, alphabets = task.space.sites, set(task.space.alphabets)
    if len(alphabets) > 1 or set(task.space.alphabets[0]) != {0, 1} or not support.whole:
        return None
    supervised = torch.zeros(len(support), dtype=torch.bool)
    supervised[list(known)] = True
    rows = _Inputs(task, support, supervised)
    clash = [0b1111 << value // 4 * 4 for value in range(4 * sites)]
    moving = Search([(1 << 4 * sites) - 1] * sites, rows, limit, injective=True, clash=clash, work=WORK)
    fixed = Search([0b1111 << 4 * site for site in range(sites)], rows, limit)
    counts = moving.count().maps, fixed.count().maps
    return BooleanMaps(max(1, *counts), max(1, counts[1]), moving.finished and fixed.finished, len(support))
