r"""The inverse of a scan: fibres by the recursion that sums over S_y.

With the kept sites fixed and the dropped ones free, β_t(s) > 0 means that the scan can still accept from state s at
position t. A second pass over the sites keeps a partial completion only while that holds. So it follows no dead end,
and the work is proportional to the number of completions, not of combinations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor

from ..constraints.answers import EVERYTHING
from ..constraints.scan import Scan
from ..constraints.scan.messages import LOG_ZERO, suffix
from ..constraints.scan.rule import Tables
from ..constraints.scan.tree import Tree
from ..dice import Dice, Sampler
from ..projections.base import Dropped
from ..spaces.categorical import Categorical
from ..target import Target
from .base import Fibre, Inverse, Start
from .complements import Cubes
from .enumeration import default_inverse
from .sets import How, Set, Sets, reduced, where


class Scanned(Inverse):
    """Fibres, starts and the law of a :class:`~softground.constraints.Scan`.

    ``cap`` is the largest number of completions listed per example; a larger fibre is cut there and incomplete.
    """

    exact = True

    def __init__(self, scan: Scan, *, cap: int = 100_000) -> None:
        self.scan = self.constraint = scan
        self.space: Categorical = scan.space
        self.cap, self._cubes = cap, Cubes(scan.space)

    def __repr__(self) -> str:
        return f"Scanned({self.scan!r})"

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        batch, device = len(z), z.device
        tables = self.scan.tables(device)
        (cues, accepts), order = tables.at(y), tables.order
        free = torch.zeros_like(z, dtype=torch.bool).scatter(1, dropped.sites, True)
        symbols = torch.arange(self.space.width, device=device)
        # The possible symbols of each site: all of its alphabet if it is dropped, else its own.
        may = torch.where(free[..., None], self.space.layout(device).allowed, z[..., None] == symbols)[:, order]
        # Only the sign of β matters: a maximum is cheaper than a sum.
        beta = suffix(tables.layers, cues, accepts, torch.where(may, 0.0, LOG_ZERO), lambda scores: scores.amax(-1))
        owner = torch.arange(batch, device=device)
        state = torch.zeros_like(owner)
        read = torch.zeros(batch, 0, dtype=torch.long, device=device)
        whole = torch.ones(batch, dtype=torch.bool, device=device)
        for t, layer in enumerate(tables.layers):
            into = layer[cues[owner, t], state]
            good = may[owner, t, : into.shape[1]] & (beta[t + 1][owner[:, None], into] > LOG_ZERO / 2)
            row, symbol = good.nonzero(as_tuple=True)
            owner, state = owner[row], into[row, symbol]
            read = torch.cat([read[row], symbol[:, None]], 1)
            if len(owner) > self.cap:  # each example keeps its first ones
                count, place = _counted(owner, batch)
                whole = whole & (count <= self.cap)
                kept = place < self.cap
                owner, state, read = owner[kept], state[kept], read[kept]
        values = torch.empty_like(read).index_copy_(1, order, read).gather(1, dropped.sites[owner])
        upwards = self.scan.order == sorted(self.scan.order) and bool((dropped.sites.diff(dim=1) > 0).all())
        return _padded(owner, values, whole) if upwards else _padded(*_sorted(owner, values), whole)

    def start(self, y: Tensor, seed: int) -> Start:
        """A state drawn uniformly from S_y for each answer."""
        found = self.scan.has_solution(y)
        z = torch.zeros(len(y), self.space.sites, dtype=torch.long, device=y.device)
        dice = Sampler(seed, y.device)
        for rows in torch.split(found.nonzero().flatten(), self.scan.tables(y.device).together):
            flat = self.space.uniform(len(rows), y.device)
            z[rows] = self.law(Target(flat, y[rows], 1.0, checked=True)).draw(dice)
        return Start(z, found, torch.ones_like(found))

    def set(self, y: Tensor) -> Sets:
        tables = self.scan.tables(y.device)
        if tables.plain:
            return Chain(y, self.scan, tables, filled=self.scan.solvable)
        return where(y, y == EVERYTHING, self._chains, self._cubes)

    def _chains(self, y: Tensor) -> Sets:
        tables = self.scan.tables(y.device)
        return where(
            y, tables.refused(y), *[partial(Chain, scan=self.scan, tables=tables, filled=self.scan.solvable)] * 2
        )


@dataclass(frozen=True, eq=False)
class Chain(Set):
    """S_y of a scan: it is never listed, and what its states accept decides.

    :meth:`reduce` goes site by site. The scan's own recursion does the same in a fraction of the time: sums and
    marginals in a tree of blocks, in half the time of slopes through it; draws and modes from the first site to the
    last, in a quarter; long sums by convolutions.
    """

    scan: Scan
    tables: Tables

    def together(self) -> int:
        return self.tables.together

    def reduce(self, scores: Tensor, how: How) -> Tensor:
        if how == "sum":
            recursion, at = self.tables.given(self.which)
            return recursion.log_partition(*at, self.scan.read(scores))
        add = partial(reduced, how=how)
        return suffix(self.tables.layers, *self.tables.at(self.which), self.scan.read(scores), add)[0][:, 0]

    def marginals(self, scores: Tensor) -> Tensor:
        recursion, at = self.tables.given(self.which)
        if isinstance(recursion, Tree):
            return self.scan.unread(recursion.marginals(*at, self.scan.read(scores)))
        return self.slopes(scores, "sum")

    @torch.no_grad()
    def choose(self, scores: Tensor, to: Literal["best"] | Dice) -> Tensor:
        if isinstance(to, str):
            return self.scan.unread(self.tables.likeliest(*self.tables.at(self.which), self.scan.read(scores)))
        recursion, at = self.tables.given(self.which)
        return self.scan.unread(recursion.sample(*at, self.scan.read(scores), to))


def _sorted(owner: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Completions in lexicographic order, where they were not read in it."""
    for column in reversed(range(-1, values.shape[1])):  # stable sorts, by the last entry first, by the owner at last
        turn = (values[:, column] if column >= 0 else owner).argsort(stable=True)
        owner, values = owner[turn], values[turn]
    return owner, values


def _padded(owner: Tensor, values: Tensor, whole: Tensor) -> Fibre:
    """Ragged completions as one rectangle."""
    batch, width = len(whole), values.shape[1]
    count, place = _counted(owner, batch)
    options = max(1, int(count.max())) if batch else 1
    table = torch.zeros(batch, options, width, dtype=torch.long, device=owner.device)
    table[owner, place] = values
    mask = torch.arange(options, device=owner.device) < count[:, None]
    return Fibre(table, mask, whole)


def _counted(owner: Tensor, batch: int) -> tuple[Tensor, Tensor]:
    """How many entries each example owns, and the place of each entry among its owner's; owners are sorted."""
    count = torch.bincount(owner, minlength=batch)
    return count, torch.arange(len(owner), device=owner.device) - (count.cumsum(0) - count)[owner]


@default_inverse.register
def _(constraint: Scan, space: Categorical) -> Scanned:
    return Scanned(constraint)
