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
for the second), then disappear. A short scan is one block.

Reference: S. Särkkä and Á. F. García-Fernández, Temporal parallelization of Bayesian smoothers, IEEE Trans. Automat.
Contr. 66 (2021).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from ...dice import Dice
from .blocks import Looked, combinations, cues_per_place, levels_above, sites_in_blocks
from .messages import LOG_ZERO, OneByOne, last_width, log_sum

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
        known: tuple[Tensor, Tensor, Tensor] | None = None
        for width in sorted({1, min(2, sites), sites}, reverse=True):
            count, states = -(-sites // width), _between(layers, width)
            joining = count * states**3 if count > 1 else 0
            if joining > most or symbols**width > room:
                continue
            known = known or _distinct(_stacked(layers).cpu())
            combined = combinations(cues_per_place(known[1], width), symbols)
            if width > 1 and combined * (states if count > 1 else 1) * count > room:
                continue
            first = sites_in_blocks(*known[:2], width, states, math.inf if width == 1 else most)
            if first is not None:
                return cls._of(layers, width, first, *known[1:])
        return None

    @classmethod
    def of(cls, layers: Sequence[Tensor], width: int) -> Tree:
        """The tables of a scan; see :mod:`softground.constraints.scan.tabulate` for ``layers``."""
        step, counts, number = _distinct(_stacked(layers).cpu())
        first = sites_in_blocks(step, counts, width, _between(layers, width), math.inf)
        assert first is not None  # it may look at any number of entries
        return cls._of(layers, width, first, counts, number)

    @classmethod
    def _of(cls, layers: Sequence[Tensor], width: int, first: Looked, counts: Tensor, number: Tensor) -> Tree:
        device, ends, levels = layers[0].device, last_width(layers), [first]
        if len(layers) > width:
            levels += levels_above(-(-len(layers) // width), _between(layers, width), max(1, ends))
        shown = cues_per_place(counts, width)
        factors = torch.tensor([math.prod(shown[t % width + 1 :]) for t in range(len(layers))])
        numbers, place = (number * factors[:, None]).to(device), torch.arange(len(layers), device=device)
        levels = [level.to(device) for level in levels]
        return cls(layers, levels, width, numbers, _stacked(layers), place, ends)

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

    @torch.no_grad()
    def sample_with_marginals(
        self, numbers: Tensor, final: Tensor, scores: Tensor, dice: Dice
    ) -> tuple[Tensor, Tensor]:
        """Both from the same sums."""
        climbed = self._climbed(numbers, final, scores)
        return self._drawn(climbed, scores, dice), self._dealt(climbed, scores)

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
