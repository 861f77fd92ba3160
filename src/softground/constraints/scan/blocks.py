"""The blocks of a scan's tree, and the ways through them: looked up in tables, or all states between blocks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from .messages import LOG_ZERO

MOST_PATHS, MOST_PARTS = 32, 8  # of blocks that are joined at once: paths through them, and how many they are


@dataclass(frozen=True, eq=False)
class Looked:
    """A round of a tree whose ways are in a table.

    A block's *cells* are the pairs of states at its ends, l · E + r, a site's its K symbols. Parts of ways are cells of
    the level below, counted through from its first block or site to its last; then come those of ``more``, and for the
    one block of the last level, which has a single cell, the final states.
    """

    table: Tensor  # [blocks, cues, cells, ways, parts]
    more: Tensor  # [1, …] the log-weights of what else can be a part
    below: int  # sites or blocks of the level below
    place: Tensor  # [blocks] 0, 1, …

    @property
    def entries(self) -> int:
        """How many an example looks at."""
        return self.table[:, 0].numel()

    def ways(self, numbers: Tensor) -> Tensor:
        """Those through all blocks, shown cues that have these numbers: ``[batch, cells of all, ways, parts]``."""
        if self.table.shape[1] == 1:
            return self.table[:, 0].flatten(0, 1).expand(len(numbers), -1, -1, -1)
        return self.table[self.place, numbers].flatten(1, 2)

    def weights(self, values: Tensor, ways: Tensor) -> Tensor:
        """The log-weights of all ways, ``[batch, cells, ways]``."""
        found = values.gather(1, ways.flatten(1)).view(ways.shape)
        return found.squeeze(-1) if ways.shape[-1] == 1 else found.sum(-1)

    def parts(self, ways: Tensor, cells: Tensor | None, way: Tensor) -> Tensor:
        """The cells below that are the parts of a way through each of ``cells``."""
        if cells is not None:
            way = torch.add(way, cells, alpha=ways.shape[2])
        parts = ways.flatten(1, 2).gather(1, way[..., None].expand(-1, -1, ways.shape[3]))
        return parts.flatten(1)[:, : self.below]

    def dealt(self, ways: Tensor, share: Tensor, size: int) -> Tensor:
        """What each of ``size`` cells below gets, where every part of a way gets the way's share."""
        every = share[..., None].expand_as(ways).flatten(1)
        return share.new_zeros(len(share), size).scatter_add_(1, ways.flatten(1), every)

    def to(self, device: torch.device) -> Looked:
        """The same on another device."""
        moved: dict[str, Any] = {k: part.to(device) for k, part in vars(self).items() if isinstance(part, Tensor)}
        return replace(self, **moved)


@dataclass(frozen=True, eq=False)
class Joined(Looked):
    """A round in which some neighbouring blocks are one: its ways, all states in between, are added up, not looked up.

    Where blocks are left over, some in which nothing is read, ``more``, are joined with them.
    """

    states: int

    @classmethod
    def of(cls, count: int, states: int) -> Joined:
        """As many of ``count`` blocks at once as there are few paths through, at least two."""
        parts = max([2, *(r for r in range(2, MOST_PARTS + 1) if states ** (r + 1) <= MOST_PATHS)])
        paths = torch.cartesian_prod(*[torch.arange(states)] * (parts + 1))  # l, r, then those in between
        paths = torch.cat([paths[:, :1], paths[:, 2:], paths[:, 1:2]], 1).view(states**2, -1, parts + 1)
        cells, blocks = paths[..., :-1] * states + paths[..., 1:], torch.arange(-(-count // parts))
        first = (blocks[:, None] * parts + torch.arange(parts))[:, None, None, None] * states**2
        stay = torch.where(torch.eye(states, dtype=torch.bool), 0.0, LOG_ZERO).double().view(1, -1)
        return cls(first + cells, stay.repeat(1, -count % parts), count, blocks, states)

    @property
    def entries(self) -> int:
        """A way is one."""
        return self.table[..., 0].numel()

    def weights(self, values: Tensor, ways: Tensor) -> Tensor:
        """A(l, m) + B(m, m') + … + C(m″, r), ``[batch, cells, ways]``."""
        parts, sides = self.table.shape[4], (self.states, self.states)
        blocks = values.view(len(values), len(self.table), parts, *sides)
        found = blocks[:, :, 0]
        for i in range(1, parts - 1):
            found = found[..., None] + blocks[:, :, i].view(*blocks.shape[:2], *[1] * i, *sides)
        last = blocks[:, :, -1].transpose(2, 3).contiguous()  # else all sums would have to be moved
        last = last.view(*blocks.shape[:2], 1, self.states, *[1] * (parts - 2), self.states)
        return (found[:, :, :, None] + last).view(len(values), len(self.table) * self.states**2, self.table.shape[3])

    def dealt(self, ways: Tensor, share: Tensor, size: int) -> Tensor:
        """What each of ``size`` cells below gets: sums over all states but those at its ends."""
        parts = self.table.shape[4]
        each = share.view(len(share), len(self.table), *[self.states] * (parts + 1))  # l, r, m, m', …
        ends = [2, *range(4, parts + 3), 3]
        sums = [each.sum([d for d in ends if d not in ends[i : i + 2]]) for i in range(parts)]
        return torch.stack([*sums[:-1], sums[-1].transpose(2, 3)], 2).view(len(share), size)


@dataclass(frozen=True, eq=False)
class Whole(Looked):
    """The block of all blocks. Its ways are few, and the same for all examples: sums over parts are products."""

    codes: Tensor  # [values below, ways] 1 where a value is a part of a way

    @classmethod
    def of(cls, table: Tensor, below: int) -> Whole:
        """The ways ``table[ways, parts]``."""
        codes = torch.zeros(int(table.max()) + 1, len(table), dtype=torch.float64).scatter_(0, table.T, 1.0)
        return cls(table[None, None, None], torch.zeros(1, 0), below, torch.arange(1), codes)

    def weights(self, values: Tensor, ways: Tensor) -> Tensor:
        return (values @ self.codes)[:, None]

    def dealt(self, ways: Tensor, share: Tensor, size: int) -> Tensor:
        return share[:, 0] @ self.codes.T


def levels_above(count: int, states: int, ends: int) -> list[Looked]:
    """The levels above ``count`` blocks with so many states between them, up to one block of all."""
    found: list[Looked] = []
    while count > 1 and (states**count > MOST_PATHS or count > MOST_PARTS):
        found.append(Joined.of(count, states))
        count = len(found[-1].place)
    # The block of all blocks: a way is all states, from the start to a final one.
    sides = [range(1), *[range(states)] * (count - 1), range(ends)]
    paths = torch.tensor(list(itertools.product(*sides)))
    cells = paths[:, :-1] * states + paths[:, 1:] + torch.arange(count) * states**2
    return [*found, Whole.of(torch.cat([cells, count * states**2 + paths[:, -1:]], 1), count)]


def sites_in_blocks(step: Tensor, counts: Tensor, width: int, states: int, most: float) -> Looked | None:
    """The first level, blocks of ``width`` sites; ``step[n, cues, states + 1, K]`` holds ``counts[n]`` distinct cues.

    'No reading', in a last block of fewer sites, and 'no symbol' are what else there is. None where an example would
    look at more than ``most`` entries.
    """
    sites, cues, dead, symbols = len(step), step.shape[1], step.shape[2] - 1, step.shape[3]
    blocks = -(-sites // width)
    if lacking := blocks * width - sites:
        stay = step.new_full((lacking, *step.shape[1:]), dead)
        stay[:, 0, :, 0] = torch.arange(dead + 1)
        step, counts = torch.cat([step, stay]), torch.cat([counts, counts.new_ones(lacking)])
    step, shown = step.view(blocks, width, cues, dead + 1, symbols), cues_per_place(counts, width)
    # The state after a block, [blocks, cues, states before, symbols], for all combinations of its cues and symbols.
    whole, place = blocks == 1, torch.arange(blocks).view(-1, 1, 1, 1, 1)
    now = torch.arange(1 if whole else states).view(1, 1, -1, 1).expand(blocks, -1, -1, -1)
    for i, seen in enumerate(shown):
        now = step[:, i][place, torch.arange(seen).view(-1, 1, 1), now[:, :, None]].flatten(1, 2).flatten(3)
    if int((now[:, 0] < dead).sum()) * width > most:
        return None
    block, cue, left, combination = found = (now < dead).nonzero(as_tuple=True)
    right = now[found]
    at, rest = [sites * symbols + 2 + right] if whole else [], combination
    for i in reversed(range(width)):
        at.insert(0, ((block * width + i) * symbols + rest % symbols).clamp(max=sites * symbols))
        rest = rest // symbols
    cells = 1 if whole else states**2
    cell = (block * now.shape[1] + cue) * cells + (0 if whole else left * states + right)
    table = _listed(torch.stack(at, 1), cell, blocks * now.shape[1] * cells, sites * symbols + 1)
    more = torch.tensor([[0.0, LOG_ZERO]], dtype=torch.float64)
    level = Looked(table.view(blocks, now.shape[1], cells, *table.shape[1:]), more, sites, place.flatten())
    return level if level.entries <= most else None


def cues_per_place(counts: Tensor, width: int) -> list[int]:
    """The most distinct cues at the first, second, … site of blocks."""
    return [max(counts[i::width].tolist(), default=1) for i in range(width)]


def combinations(shown: Sequence[int], symbols: int) -> int:
    """How many cues and symbols a block can be read with."""
    return math.prod(symbols * seen for seen in shown)


def _listed(ways: Tensor, cell: Tensor, cells: int, none: int) -> Tensor:
    """The ways by their cells, ``[cells, most ways of one, parts]``, filled up with ``none``."""
    order = cell.argsort(stable=True)
    ways, cell, many = ways[order], cell[order], cell.bincount(minlength=cells)
    table = ways.new_full((cells, max(1, int(many.max())), ways.shape[1]), none)
    table[cell, torch.arange(len(cell)) - (many.cumsum(0) - many)[cell]] = ways
    return table
