"""The blocks of a scan's tree, and the ways through them, as tables of places to look at."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from .messages import LOG_ZERO, last_width

MOST_PATHS, MOST_PARTS = 32, 8  # of blocks that are joined at once: paths through them, and how many they are


@dataclass(frozen=True, eq=False)
class Level:
    """The blocks of one round of a tree, and the ways through each.

    A block's *cells* are the pairs of states at its ends, l · E + r, a site's its K symbols. Parts of ways are cells of
    the level below, counted through from its first block or site to its last; then come those of ``more``, and for the
    one block of the last level, which has a single cell, the final states.
    """

    ways: Tensor  # [blocks, cues, cells, ways, parts]
    more: Tensor  # [1, …] the log-weights of what else can be a part
    below: int  # sites or blocks of the level below
    place: Tensor  # [blocks] 0, 1, …

    def of_cues(self, numbers: Tensor) -> Tensor:
        """The ways of all blocks, shown the cues that have these numbers: ``[batch, blocks, cells, ways, parts]``."""
        alike = self.ways.shape[1] == 1
        return self.ways[:, 0].expand(len(numbers), -1, -1, -1, -1) if alike else self.ways[self.place, numbers]

    def to(self, device: torch.device) -> Level:
        """The same on another device."""
        return Level(self.ways.to(device), self.more.to(device), self.below, self.place.to(device))


@dataclass(frozen=True, eq=False)
class Sites:
    """The layers of a scan, ``width`` sites a block."""

    layers: Sequence[Tensor]  # per position [cues, states + 1, symbols], without cues that say the same
    width: int

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return -(-len(self.layers) // self.width)

    @property
    def states(self) -> int:
        """E, the most states, without dead, that there are between blocks."""
        return max(1, last_width(self.layers), *(layer.shape[1] - 1 for layer in self.layers[:: self.width]))

    @property
    def joining(self) -> int:
        """About how many ways there are through blocks of two blocks."""
        return 0 if self.count == 1 else self.count * self.states**3

    @property
    def entries(self) -> int:
        """The most combinations of cues, states and symbols that have to be looked through for a block."""
        sizes = (math.prod(len(each) * each.shape[2] for each in block) for block in self._blocks())
        return self.states ** (2 if self.count > 1 else 0) * max(sizes)

    def _blocks(self) -> list[Sequence[Tensor]]:
        return [self.layers[t : t + self.width] for t in range(0, len(self.layers), self.width)]

    def levels(self) -> list[Level]:
        """All levels of the tree, the first of them of sites."""
        found, count, states = [self._first()], self.count, self.states
        while count > 1 and (states**count > MOST_PATHS or count > MOST_PARTS):
            found.append(_joined(count, states))
            count = len(found[-1].ways)
        return found if self.count == 1 else [*found, _last(count, states, max(1, last_width(self.layers)))]

    def _first(self) -> Level:
        """The blocks of sites. 'No symbol' and 'no reading', in a last block of fewer sites, are what else there is."""
        widths = [layer.shape[1] - 1 for layer in self.layers[self.width :: self.width]] + [last_width(self.layers)]
        blocks = zip(range(0, len(self.layers), self.width), self._blocks(), widths, strict=True)
        found = [self._through(*block) for block in blocks]
        cues, ways = (max(each.shape[i] for each in found) for i in (0, 2))
        room = [(0, 0, 0, ways - each.shape[2], 0, 0, 0, cues - len(each)) for each in found]
        grown = [pad(each, more, value=self._none) for each, more in zip(found, room, strict=True)]
        return _level(torch.stack(grown), [LOG_ZERO, 0.0], len(self.layers))

    @property
    def _none(self) -> int:
        """Where 'no symbol' stands: after all symbols of all sites."""
        return len(self.layers) * max(layer.shape[2] for layer in self.layers)

    def _through(self, first: int, block: Sequence[Tensor], after: int) -> Tensor:
        """The ways through the block that begins at site ``first``, ``[cues, cells, ways, parts]``."""
        reached, states, none = _reached(block)[:, :, None], self.states, self._none
        if self.count == 1:
            leads = reached < after
        else:
            leads = reached == torch.arange(after)[:, None]
            leads = pad(leads, (0, 0, 0, states - after, 0, states - leads.shape[1]))
        chosen, real = _listed(leads)  # as numbers of combinations
        at, rest = list[Tensor](), chosen
        for site, layer in reversed([*enumerate(block, first)]):
            at.insert(0, site * (none // len(self.layers)) + rest % layer.shape[2])
            rest = rest // layer.shape[2]
        at += [torch.full_like(chosen, none + 1)] * (self.width - len(block))
        if self.count == 1:
            at.append(none + 2 + reached.gather(3, chosen))
        return torch.where(real[..., None], torch.stack(at, -1), none).flatten(1, 2)


def _reached(block: Sequence[Tensor]) -> Tensor:
    """The state after a block, ``[cues, states, symbols]``, for all combinations of its sites' cues and symbols."""
    now = torch.arange(block[0].shape[1] - 1)[None, :, None]
    for layer in block:
        now = layer[:, now].permute(1, 0, 2, 3, 4).flatten(3).flatten(0, 1)
    return now


def _listed(leads: Tensor) -> tuple[Tensor, Tensor]:
    """Where a last dimension is true, first ones first, and which of these are real rather than filled up."""
    found = leads.to(torch.uint8).sort(dim=-1, descending=True, stable=True)
    most = max(1, int(leads.sum(-1).max()))
    return found.indices[..., :most], found.values[..., :most].bool()


def _joined(count: int, states: int) -> Level:
    """Blocks of several blocks: a way is the states in between. Reading nothing fills up the last one."""
    parts = max([2, *(r for r in range(2, MOST_PARTS + 1) if states ** (r + 1) <= MOST_PATHS)])
    paths = torch.cartesian_prod(*[torch.arange(states)] * (parts + 1))  # l, r, then those in between
    paths = torch.cat([paths[:, :1], paths[:, 2:], paths[:, 1:2]], 1).view(states**2, -1, parts + 1)
    cells = paths[..., :-1] * states + paths[..., 1:]
    blocks = torch.arange(-(-count // parts) * parts).clamp(max=count).view(-1, 1, 1, 1, parts)
    stay = torch.where(torch.eye(states, dtype=torch.bool), 0.0, LOG_ZERO).flatten().tolist()
    return _level(blocks * states**2 + cells, stay, count)


def _last(count: int, states: int, ends: int) -> Level:
    """The block of all blocks: a way is all states, from the start to a final one."""
    sides = [range(1), *[range(states)] * (count - 1), range(ends)]
    paths = torch.tensor(list(itertools.product(*sides)))
    cells = paths[:, :-1] * states + paths[:, 1:] + torch.arange(count) * states**2
    return _level(torch.cat([cells, count * states**2 + paths[:, -1:]], 1)[None, None, None], [], count)


def _level(ways: Tensor, more: Sequence[float], below: int) -> Level:
    return Level(ways, torch.tensor([more], dtype=torch.float64), below, torch.arange(len(ways)))
