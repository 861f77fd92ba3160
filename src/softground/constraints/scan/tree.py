r"""Sums over S_y in log n rounds, for scans with few states.

Some neighbouring sites are a block. What reading it weighs, from a state l before it to a state r after it, is a sum
over the **ways** through it, the symbols that lead from l to r,

.. math:: M(l, r) = \sum_{\text{ways}} \prod_{\text{parts}} w_\text{part}, \qquad
          \sum_{z \in S_y} w(z) = \sum_{r \text{ accepted}} M_\text{all}(\text{start}, r) .

Neighbouring blocks are the parts of a larger one, whose ways are the states in between, and so on up to one block of
all sites: log n rounds instead of n, each for all blocks at once. On a GPU, where every round waits for the last one,
that is what counts. On the way down the same tree, a block's weight is dealt out to its ways, which gives the
marginals, or one of its ways is drawn, which gives a z.

Two sites are a block where that is little work: odd positions, which may have many more states (a first summand waiting
for the second), then disappear. A short scan is one block. The ways through blocks of sites are looked up in tables.

Reference: S. Särkkä and Á. F. García-Fernández, Temporal parallelization of Bayesian smoothers, IEEE Trans. Automat.
Contr. 66 (2021).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from ...dice import Dice
from .messages import LOG_ZERO, OneByOne, last_width, log_sum

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


def levels_above(count: int, states: int, ends: int) -> list[Looked]:
    """The levels above ``count`` blocks with ``states`` states between them, up to one block of all."""
    found: list[Looked] = []
    while count > 1 and (states**count > MOST_PATHS or count > MOST_PARTS):
        found.append(Joined.of(count, states))
        count = len(found[-1].place)
    # The block of all blocks: a way is all states, from the start to a final one.
    sides = [range(1), *[range(states)] * (count - 1), range(ends)]
    paths = torch.tensor(list(itertools.product(*sides)))
    cells = paths[:, :-1] * states + paths[:, 1:] + torch.arange(count) * states**2
    table = torch.cat([cells, count * states**2 + paths[:, -1:]], 1)[None, None, None]
    return [*found, Looked(table, torch.zeros(1, 0), count, torch.arange(1))]


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


def _listed(ways: Tensor, cell: Tensor, cells: int, none: int) -> Tensor:
    """The ways by their cells, ``[cells, most ways of one, parts]``, filled up with ``none``."""
    order = cell.argsort(stable=True)
    ways, cell, many = ways[order], cell[order], cell.bincount(minlength=cells)
    table = ways.new_full((cells, max(1, int(many.max())), ways.shape[1]), none)
    table[cell, torch.arange(len(cell)) - (many.cumsum(0) - many)[cell]] = ways
    return table


MOST_EXTRA_WORK = 4  # how many times the work of going site by site the tree may be, and still be used
CHEAP_ROUND = 1000  # how many of its entries take a CPU as long as a round of plain products, site by site
MOST_ENTRIES = 2**18  # of combinations that are looked through for ways, where the scan's own tables are small


@dataclass(frozen=True, eq=False)
class Tree:
    """The recursion over a tree of neighbouring blocks of ``width`` sites."""

    layers: Sequence[Tensor]
    levels: Sequence[Looked]
    width: int
    numbers: Tensor  # [n, cues] what each cue adds to the number of all that its block is shown
    step: Tensor  # [n, cues, states + 1, K], all layers padded to one size; the last state is dead
    place: Tensor  # [n] 0, 1, …
    ends: int  # the number of states of the last layer

    @classmethod
    def paying(cls, layers: Sequence[Tensor]) -> Tree | None:
        """The tree of the longest blocks that cost about what going site by site costs; None where none does."""
        sites, symbols = len(layers), max(layer.shape[2] for layer in layers)
        most = MOST_EXTRA_WORK * sum(layer[0].numel() for layer in layers)
        room = max(MOST_ENTRIES, MOST_EXTRA_WORK * sum(layer.numel() for layer in layers))
        for width in sorted({1, min(2, sites), sites}, reverse=True):
            count = -(-sites // width)
            joining = count * _between(layers, width) ** 3 if count > 1 else 0
            if joining <= most and symbols**width <= room:
                found = cls.of(layers, width, room, most) if width > 1 else cls.of(layers, width)
                if found is not None:
                    return found
        return None

    @classmethod
    def of(cls, layers: Sequence[Tensor], width: int, room: float = math.inf, most: float = math.inf) -> Tree | None:
        """The tree of a scan (:mod:`~softground.constraints.scan.tabulate`); None where too many entries are in it.

        ``room`` is for combinations that are looked through for ways, ``most`` for what an example looks at.
        """
        step, counts, number = _distinct(_stacked(layers).cpu())
        shown, count, states = cues_per_place(counts, width), -(-len(layers) // width), _between(layers, width)
        if math.prod(step.shape[3] * seen for seen in shown) * (states if count > 1 else 1) * count > room:
            return None
        first = sites_in_blocks(step, counts, width, states, most)
        if first is None:
            return None
        device, ends, levels = layers[0].device, last_width(layers), [first]
        if count > 1:
            levels += levels_above(count, states, max(1, ends))
        factors = torch.tensor([math.prod(shown[t % width + 1 :]) for t in range(len(layers))])
        numbers, place = (number * factors[:, None]).to(device), torch.arange(len(layers), device=device)
        return cls(layers, [level.to(device) for level in levels], width, numbers, _stacked(layers), place, ends)

    def shown(self, cues: Tensor, accepts: Tensor) -> tuple[Tensor, Tensor]:
        """The number of all cues that each block is shown, ``[rows, blocks]``, and the final states' log-weights."""
        final = torch.where(accepts[:, : max(1, self.ends)], 0.0, LOG_ZERO).double()  # with no state left, dead's
        if self.levels[0].table.shape[1] == 1:
            return cues, final
        numbers = self.numbers[self.place, cues]
        numbers = pad(numbers, (0, -numbers.shape[1] % self.width))
        return numbers.view(len(cues), numbers.shape[1] // self.width, self.width).sum(-1), final

    def log_partition(self, numbers: Tensor, final: Tensor, scores: Tensor) -> Tensor:
        """log Σ w(z) over S_y, ``[batch]``; its gradient with respect to the scores is Q*'s marginals."""
        work = len(scores) * sum(level.entries for level in self.levels)
        if scores.device.type == "cpu" and self.step.shape[1] == 1 and work > CHEAP_ROUND * len(self.layers):
            accepts = pad(final == 0, (0, 1))[:, : self.ends + 1]
            return OneByOne(self.layers).log_partition(torch.zeros_like(numbers), accepts, scores)
        return log_sum(self._climbed(numbers, final, scores)[-1].weights.flatten(1))

    def sample(self, numbers: Tensor, final: Tensor, scores: Tensor, dice: Dice) -> Tensor:
        """Draws from Q*, ``[batch, n]`` in reading order."""
        return self._drawn(self._climbed(numbers, final, scores), scores, dice)

    @torch.no_grad()
    def marginals(self, numbers: Tensor, final: Tensor, scores: Tensor) -> Tensor:
        """Q*'s marginals ``[batch, n, K]``, without a tape."""
        return self._dealt(self._climbed(numbers, final, scores), scores)

    def final_state(self, cues: Tensor, z: Tensor) -> Tensor:
        """Where reading z ends, ``[batch]``: functions from states to states are composed like blocks."""
        maps = self.step.transpose(2, 3)[self.place, cues, z]
        while maps.shape[1] > 1:
            if maps.shape[1] % 2:
                stay = torch.arange(maps.shape[2], device=z.device).expand(len(z), 1, -1)
                maps = torch.cat([maps, stay], 1)
            maps = maps[:, 1::2].gather(2, maps[:, 0::2])
        return maps[:, 0, 0].clamp(max=self.ends)

    def _climbed(self, numbers: Tensor, final: Tensor, scores: Tensor) -> list[_Climbed]:
        values, found = scores.flatten(1), list[_Climbed]()
        for level in self.levels:
            more = [level.more.expand(len(values), -1)] if level.more.numel() else []
            if level is self.levels[-1]:
                more.append(final)
            values = torch.cat([values, *more], 1) if more else values
            ways = level.ways(numbers)
            size, weights = values.shape[1], level.weights(values, ways)
            values = values if level is self.levels[-1] else log_sum(weights)
            found.append(_Climbed(level, ways, weights, size, values))
        return found

    def _drawn(self, climbed: list[_Climbed], scores: Tensor, dice: Dice) -> Tensor:
        cells: Tensor | None = None  # one of each block, counted through; the last level has no other
        for level, ways, weights, _, _ in reversed(climbed):
            own = weights if cells is None else weights.gather(1, cells[..., None].expand(-1, -1, weights.shape[2]))
            way = dice.categorical(own.flatten(0, 1)).view(own.shape[:2])
            cells = level.parts(ways, cells, way)
        assert cells is not None
        return cells % scores.shape[2]

    def _dealt(self, climbed: list[_Climbed], scores: Tensor) -> Tensor:
        """Q*'s marginals: the probability of each cell, dealt out to its ways, and theirs to all of their parts."""
        dealt: Tensor | None = None
        for level, ways, weights, size, sums in reversed(climbed):
            if dealt is None:
                share = weights.softmax(-1)
            else:  # on a CPU ten times as fast as a softmax of few ways
                share = (weights - sums[..., None]).exp_().mul_(dealt[:, : weights.shape[1], None])
            dealt = level.dealt(ways, share, size)
        assert dealt is not None
        return dealt[:, : scores.shape[1:].numel()].view(scores.shape)


class _Climbed(NamedTuple):
    """What was found at a level on the way up."""

    level: Looked
    ways: Tensor  # [batch, cells, ways, parts], see Looked
    weights: Tensor  # [batch, cells, ways] their log-weights
    size: int  # how many values there are below
    sums: Tensor  # [batch, cells] the weights' sums, but for the last level


def _between(layers: Sequence[Tensor], width: int) -> int:
    """The most states, without dead, that there are between blocks."""
    return max(1, last_width(layers), *(layer.shape[1] - 1 for layer in layers[::width]))


def _stacked(layers: Sequence[Tensor]) -> Tensor:
    """All layers padded to one size, ``[n, cues, states + 1, K]``; the last state is dead."""
    after = [*(layer.shape[1] - 1 for layer in layers[1:]), last_width(layers)]
    cues, symbols = (max(layer.shape[i] for layer in layers) for i in (0, 2))
    dead = max(1, *after)
    step = layers[0].new_full((len(layers), cues, dead + 1, symbols), dead)
    for here, layer in zip(step, layers, strict=True):
        count, states, own = layer.shape
        here[:count, :states, :own] = layer
        if count < cues:  # cues that do not occur say what the first does
            here[count:, :states, :own] = layer[0]
    return step.masked_fill_(step >= torch.tensor(after, device=step.device)[:, None, None, None], dead)


def _distinct(step: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Each layer without cues that say the same, how many are left, and where its cues are among them."""
    sites, cues = step.shape[:2]
    if cues == 1:
        return step, torch.ones(sites, dtype=torch.long), torch.zeros(sites, 1, dtype=torch.long)
    place = torch.arange(sites)[:, None, None].expand(-1, cues, -1)
    rows, number = torch.unique(torch.cat([place, step.flatten(2)], 2).flatten(0, 1), dim=0, return_inverse=True)
    site, counts = rows[:, 0], rows[:, 0].bincount()
    before = counts.cumsum(0) - counts
    found = step.new_full((sites, int(counts.max()), *step.shape[2:]), step.shape[2] - 1)
    found[site, torch.arange(len(rows)) - before[site]] = rows[:, 1:].view(-1, *step.shape[2:])
    return found, counts, number.view(sites, cues) - before[:, None]
