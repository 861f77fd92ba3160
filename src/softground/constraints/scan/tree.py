r"""Sums over S_y in log n rounds, for scans with few states.

Some neighbouring sites are a block. What reading it weighs, from a state l before it to a state r after it, is a sum
over the **ways** through it, the symbols that lead from l to r,

.. math:: M(l, r) = \sum_{\text{ways}} \prod_{\text{parts}} w_\text{part}, \qquad
          \sum_{z \in S_y} w(z) = \sum_{r \text{ accepted}} M_\text{all}(\text{start}, r) .

Neighbouring blocks are the parts of a larger one, whose ways are the states in between, and so on up to one block of
all sites: log n rounds instead of n, each a look-up and a sum for all blocks at once. On a GPU, where every round waits
for the last one, that is what counts. On the way down the same tree, a block's weight is dealt out to its ways, which
gives the marginals, or one of its ways is drawn, which gives a z.

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
from .blocks import Level, Sites
from .messages import LOG_ZERO, last_width, log_sum

MOST_EXTRA_WORK = 4  # how many times the work of going site by site the tree may be, and still be used
MOST_ENTRIES = 2**18  # of the tables that are looked through for the ways of a block


@dataclass(frozen=True, eq=False)
class Tree:
    """The recursion over a tree of neighbouring blocks of ``width`` sites."""

    levels: Sequence[Level]
    width: int
    numbers: Tensor  # [n, cues] what each cue adds to the number of all that its block is shown
    step: Tensor  # [n, cues, states + 1, K], all layers padded to one size; the last state is dead
    place: Tensor  # [n] 0, 1, …
    logs: Tensor  # log 1 and log 0
    ends: int  # the number of states of the last layer

    @classmethod
    def paying(cls, layers: list[Tensor]) -> Tree | None:
        """The tree of the longest blocks that cost about what going site by site costs; None where none does."""
        known, most = _distinct(layers), MOST_EXTRA_WORK * sum(layer[0].numel() for layer in layers)
        for width in sorted({1, min(2, len(layers)), len(layers)}, reverse=True):
            sites = Sites([rows for rows, _ in known], width)
            if sites.joining > most or (width > 1 and sites.entries > MOST_ENTRIES):
                continue
            tree = cls.of(layers, width)
            if width == 1 or tree.levels[0].ways[:, 0].numel() <= most:
                return tree
        return None

    @classmethod
    def of(cls, layers: list[Tensor], width: int) -> Tree:
        """The tables of a scan; see :mod:`softground.constraints.scan.tabulate` for ``layers``."""
        device, known = layers[0].device, _distinct(layers)
        cues, states, symbols = (max(layer.shape[i] for layer in layers) for i in range(3))
        dead = max(states, last_width(layers))
        numbers, step = torch.zeros(len(layers), cues, dtype=torch.long), list[Tensor]()
        for t, (layer, (_, number)) in enumerate(zip(layers, known, strict=True)):
            after = known[t + 1 : t - t % width + width]
            numbers[t, : len(layer)] = number * math.prod(len(rows) for rows, _ in after)
            live = layer.masked_fill(layer == layer[0, -1, 0], dead)
            room = [symbols - layer.shape[2], dead + 1 - layer.shape[1], cues - len(layer)]
            step.append(pad(live, [n for extra in room for n in (0, extra)], value=dead))
        levels = [level.to(device) for level in Sites([rows for rows, _ in known], width).levels()]
        logs, place = torch.tensor([0.0, LOG_ZERO], dtype=torch.float64), torch.arange(len(layers))
        parts = torch.stack(step), place.to(device), logs.to(device), last_width(layers)
        return cls(levels, width, numbers.to(device), *parts)

    def log_partition(self, cues: Tensor, accepts: Tensor, scores: Tensor) -> Tensor:
        """log Σ w(z) over S_y, ``[batch]``; its gradient with respect to the scores is Q*'s marginals."""
        return self._climbed(cues, accepts, scores)[-1].weights.flatten(1).logsumexp(-1)

    def sample(self, cues: Tensor, accepts: Tensor, scores: Tensor, dice: Dice) -> Tensor:
        """Draws from Q*, ``[batch, n]`` in reading order."""
        return self._drawn(self._climbed(cues, accepts, scores), scores, dice)

    @torch.no_grad()
    def marginals(self, cues: Tensor, accepts: Tensor, scores: Tensor) -> Tensor:
        """Q*'s marginals ``[batch, n, K]``, without a tape."""
        return self._dealt(self._climbed(cues, accepts, scores), scores)

    @torch.no_grad()
    def sample_with_marginals(self, cues: Tensor, accepts: Tensor, scores: Tensor, dice: Dice) -> tuple[Tensor, Tensor]:
        """Both from the same sums."""
        climbed = self._climbed(cues, accepts, scores)
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

    def _climbed(self, cues: Tensor, accepts: Tensor, scores: Tensor) -> list[_Climbed]:
        numbers, values, found = self._shown(cues), scores.flatten(1), list[_Climbed]()
        for level in self.levels:
            more = [level.more.expand(len(values), -1)]
            if level is self.levels[-1]:
                final = accepts[:, : max(1, self.ends)]  # with no state left, dead stands in
                more.append(torch.where(final, self.logs[0], self.logs[1]))
            values = torch.cat([values, *more], 1)
            ways = level.of_cues(numbers)
            weights = values.gather(1, ways.flatten(1)).view(ways.shape).sum(-1)
            found.append(_Climbed(ways, weights, values.shape[1]))
            if level is not self.levels[-1]:
                values = log_sum(weights).flatten(1)
        return found

    def _shown(self, cues: Tensor) -> Tensor:
        """The number of all cues that each block is shown, ``[batch, blocks]``."""
        if self.levels[0].ways.shape[1] == 1:
            return cues
        shown = self.numbers[self.place, cues]
        if lacking := -shown.shape[1] % self.width:
            shown = pad(shown, (0, lacking))
        return shown.view(len(cues), shown.shape[1] // self.width, self.width).sum(-1)

    def _drawn(self, climbed: list[_Climbed], scores: Tensor, dice: Dice) -> Tensor:
        cells: Tensor | None = None  # one of each block, counted through; the last level has no other
        for level, (ways, weights, _) in zip(reversed(self.levels), reversed(climbed), strict=True):
            own = weights.flatten(1, 2)
            if cells is not None:
                own = own.gather(1, cells[..., None].expand(-1, -1, own.shape[2]))
            way = dice.categorical(own.flatten(0, 1)).view(own.shape[:2])
            if cells is not None:
                way = torch.add(way, cells, alpha=own.shape[2])
            parts = ways.flatten(1, 3).gather(1, way[..., None].expand(-1, -1, ways.shape[4]))
            cells = parts.flatten(1)[:, : level.below]
        assert cells is not None
        return cells % scores.shape[2]

    def _dealt(self, climbed: list[_Climbed], scores: Tensor) -> Tensor:
        """Q*'s marginals: the probability of each cell, dealt out to its ways, and theirs to all of their parts."""
        dealt: Tensor | None = None
        for ways, weights, size in reversed(climbed):
            share = weights.softmax(-1)[..., None].expand_as(ways)
            if dealt is not None:
                cells = weights.shape[1:3]
                share = share * dealt[:, : cells.numel()].view(len(weights), *cells, 1, 1)
            dealt = scores.new_zeros(len(scores), size).scatter_add_(1, ways.flatten(1), share.flatten(1))
        assert dealt is not None
        return dealt[:, : scores.shape[1:].numel()].view(scores.shape)


class _Climbed(NamedTuple):
    """What was found at a level on the way up."""

    ways: Tensor  # [batch, blocks, cells, ways, parts], see Level
    weights: Tensor  # [batch, blocks, cells, ways] their log-weights
    values: int  # how many there are below


def _distinct(layers: list[Tensor]) -> list[tuple[Tensor, Tensor]]:
    """Each layer without cues that say the same, on the CPU, and where its cues are among those left."""
    return [torch.unique(layer.cpu(), dim=0, return_inverse=True) for layer in layers]
