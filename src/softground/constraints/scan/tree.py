r"""Sums over S_y in log n rounds, for long scans with few states.

Reading one symbol is a matrix of weights from the states before it to those after it,

.. math:: M_t(s, s') = \sum_{k:\, \text{step}(s, k) = s'} w_t(k),

and reading many is their product. Products of neighbours, then of neighbouring products, need log₂ n rounds instead of
n, each one batched operation over all blocks: on a GPU, where every round waits for the last one, that is what counts.
Draws go down the same tree: given the states at a block's ends, the state in its middle has weights
:math:`A(l, m)\,B(m, r)`, and at the leaves the symbol has weights w_t(k) among those that lead from l to r. Odd
positions, which may have many more states (a first summand waiting for the second), disappear in the first round.

Reference: S. Särkkä and Á. F. García-Fernández, Temporal parallelization of Bayesian smoothers, IEEE Trans. Automat.
Contr. 66 (2021).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from ...dice import Dice
from .messages import LOG_ZERO, last_width

MOST_EXTRA_WORK = 4  # how many times the work of going site by site the tree may be, and still be used


@dataclass(frozen=True, eq=False)
class Tree:
    """The recursion over a tree of neighbouring blocks.

    ``first`` and ``second`` hold which symbols lead from a state to another at the first and the second position of
    each pair. E and O are the most states that even and odd layers have, m the most symbols between two states. K is
    'no symbol', K + 1 'no reading' after the last position of an odd n.
    """

    first: Tensor  # [pairs, cues, E, O, m]
    second: Tensor  # [pairs, cues, O, E, m]
    step: Tensor  # [n, cues, states + 1, K], all layers padded to one size; the last state is dead
    positions: int  # n
    ends: int  # the number of states of the last layer

    @staticmethod
    def pays(layers: list[Tensor]) -> bool:
        """Whether the tree's products cost about what going site by site costs."""
        even, odd = _widths(layers)
        symbols = max(layer.shape[2] for layer in layers)
        return even * even * (odd + even) <= MOST_EXTRA_WORK * (even + odd) * symbols

    @classmethod
    def of(cls, layers: list[Tensor]) -> Tree:
        """The tables of a scan; see :mod:`softground.constraints.scan.tabulate` for ``layers``."""
        (even, odd), ends = _widths(layers), last_width(layers)
        cues, symbols = (max(layer.shape[i] for layer in layers) for i in (0, 2))
        after = [layer.shape[1] - 1 for layer in layers[1:]] + [ends]
        first: list[Tensor] = []
        second: list[Tensor] = []
        step: list[Tensor] = []
        dead = max(even, odd)
        for t, (layer, width) in enumerate(zip(layers, after, strict=True)):
            leads = layer[:, :-1, None, :] == torch.arange(width, device=layer.device)[:, None]
            here, there = (even, odd) if t % 2 == 0 else (odd, even)
            leads = _grow(leads, (cues, here, there, symbols), False)
            (first if t % 2 == 0 else second).append(_which(leads, symbols))
            live = torch.where(layer[:, :-1] < width, layer[:, :-1], dead)
            step.append(_grow(live, (cues, dead + 1, symbols), dead))
        if len(layers) % 2:
            second.append(_stay(cues, odd, even, symbols, layers[0].device))
        return cls(_stacked(first, symbols), _stacked(second, symbols), torch.stack(step), len(layers), ends)

    def log_partition(self, cues: Tensor, accepts: Tensor, scores: Tensor) -> Tensor:
        """log Σ w(z) over S_y, ``[batch]``; its gradient with respect to the scores is Q*'s marginals."""
        return self._ending(self._levels(cues, scores)[-1], accepts).logsumexp(-1)

    def sample(self, cues: Tensor, accepts: Tensor, scores: Tensor, dice: Dice) -> Tensor:
        """Draws from Q*, ``[batch, n]`` in reading order."""
        return self._drawn(self._levels(cues, scores), cues, accepts, scores, dice)

    def sample_with_total(self, cues: Tensor, accepts: Tensor, scores: Tensor, dice: Dice) -> tuple[Tensor, Tensor]:
        """Both from the same products; only the total is differentiable."""
        levels = self._levels(cues, scores)
        with torch.no_grad():
            z = self._drawn(levels, cues, accepts, scores, dice)
        return z, self._ending(levels[-1], accepts).logsumexp(-1)

    def _drawn(self, products: list[Tensor], cues: Tensor, accepts: Tensor, scores: Tensor, dice: Dice) -> Tensor:
        first, second, *levels = products
        last = dice.categorical(self._ending(levels[-1], accepts))
        states = torch.stack([torch.zeros_like(last), last], 1)  # at the ends of all blocks, [batch, blocks + 1]
        for below in levels[-2::-1]:
            whole = below if below.shape[1] % 2 == 0 else _with_identity(below)
            states = _between(dice, whole[:, 0::2], whole[:, 1::2], states)[:, : below.shape[1] + 1]
        states = _between(dice, first, second, states)
        symbols = []
        for half, which in enumerate((self.first, self.second)):
            options = _chosen(which, cues[:, half::2])
            ends = (states[:, half:-1:2], states[:, half + 1 :: 2])
            rows = [torch.arange(n, device=scores.device) for n in options.shape[:2]]
            options = options[rows[0][:, None], rows[1], ends[0], ends[1]]
            weights = _extended(scores)[:, half::2].gather(2, options)
            drawn = dice.categorical(weights.flatten(0, 1)).view(weights.shape[:2]) if weights.shape[2] > 1 else None
            symbols.append(options[..., 0] if drawn is None else options.gather(2, drawn[..., None]).squeeze(2))
        return torch.stack(symbols, 2).flatten(1)[:, : self.positions]

    def final_state(self, cues: Tensor, z: Tensor) -> Tensor:
        """Where reading z ends, ``[batch]``: functions from states to states are composed like the matrices."""
        place = torch.arange(self.positions, device=z.device)
        maps = self.step.transpose(2, 3)[place, cues, z]
        while maps.shape[1] > 1:
            if maps.shape[1] % 2:
                stay = torch.arange(maps.shape[2], device=z.device).expand(len(z), 1, -1)
                maps = torch.cat([maps, stay], 1)
            maps = maps[:, 1::2].gather(2, maps[:, 0::2])
        return maps[:, 0, 0].clamp(max=self.ends)

    def _levels(self, cues: Tensor, scores: Tensor) -> list[Tensor]:
        """Matrices of first and second positions, then of blocks of 2, 4, … positions up to all of them."""
        extended = _extended(scores)
        levels = [
            _weights(which, cues[:, half::2], extended[:, half::2])
            for half, which in enumerate((self.first, self.second))
        ]
        levels.append(_product(*levels))
        while levels[-1].shape[1] > 1:
            blocks = levels[-1] if levels[-1].shape[1] % 2 == 0 else _with_identity(levels[-1])
            levels.append(_product(blocks[:, 0::2], blocks[:, 1::2]))
        return levels

    def _ending(self, whole: Tensor, accepts: Tensor) -> Tensor:
        """log-weights of the final states, ``[batch, states]``."""
        ends = max(1, self.ends)  # where no state is left, dead stands in for the last one
        return (whole[:, 0, 0, :ends] + torch.where(accepts[:, :ends], 0.0, LOG_ZERO)).clamp(min=LOG_ZERO)


def _widths(layers: list[Tensor]) -> tuple[int, int]:
    """The most states, without dead, of even and of odd layers; a last layer at an odd place is repeated."""
    widths = [layer.shape[1] - 1 for layer in layers] + [last_width(layers)]
    widths += widths[-1:] if len(layers) % 2 else []
    return max(1, *widths[0::2]), max(1, *widths[1::2])


def _product(a: Tensor, b: Tensor) -> Tensor:
    """The matrix product of logarithms."""
    return (a[..., :, :, None] + b[..., None, :, :]).logsumexp(-2).clamp(min=LOG_ZERO)


def _between(dice: Dice, a: Tensor, b: Tensor, ends: Tensor) -> Tensor:
    """States at the ends of blocks, and one drawn in the middle of each, ``[batch, 2 · blocks + 1]``."""
    batch, blocks, _, middle = a.shape
    leave = a.gather(2, ends[:, :-1, None, None].expand(-1, -1, 1, middle)).squeeze(2)
    arrive = b.gather(3, ends[:, 1:, None, None].expand(-1, -1, middle, 1)).squeeze(3)
    drawn = dice.categorical((leave + arrive).flatten(0, 1)).view(batch, blocks)
    woven = torch.stack([ends[:, :-1], drawn], 2).flatten(1)
    return torch.cat([woven, ends[:, -1:]], 1)


def _with_identity(blocks: Tensor) -> Tensor:
    """One more block, in which nothing is read."""
    eye = torch.eye(blocks.shape[2], dtype=torch.bool, device=blocks.device)
    stay = torch.where(eye, 0.0, LOG_ZERO).to(blocks.dtype)
    return torch.cat([blocks, stay.expand(len(blocks), 1, -1, -1)], 1)


def _extended(scores: Tensor) -> Tensor:
    """Scores with the columns of 'no symbol' and 'no reading', and one more position where their number is odd."""
    return pad(pad(pad(scores, (0, 0, 0, scores.shape[1] % 2)), (0, 1), value=LOG_ZERO), (0, 1))


def _chosen(which: Tensor, cues: Tensor) -> Tensor:
    """The symbols between states for the cues that examples show, ``[batch, pairs, …]``."""
    cues = pad(cues, (0, len(which) - cues.shape[1]))
    return which[torch.arange(len(which), device=which.device), cues]


def _weights(which: Tensor, cues: Tensor, scores: Tensor) -> Tensor:
    """log M_t for the positions of one half of the pairs."""
    symbols = _chosen(which, cues)
    found = scores.gather(2, symbols.flatten(2)).view(symbols.shape)
    return found.logsumexp(-1).clamp(min=LOG_ZERO) if found.shape[-1] > 1 else found.squeeze(-1)


def _which(leads: Tensor, none: int) -> Tensor:
    """The symbols that lead from a state to another, first ones first, filled up with ``none``."""
    found = leads.to(torch.uint8).sort(dim=-1, descending=True, stable=True)
    most = max(1, int(leads.sum(-1).max()))
    return torch.where(found.values[..., :most].bool(), found.indices[..., :most], none)


def _stay(cues: int, odd: int, even: int, symbols: int, device: torch.device) -> Tensor:
    """The second position of a pair that has none: every state stays what it is."""
    eye = torch.eye(odd, even, dtype=torch.bool, device=device)
    return torch.where(eye, symbols + 1, symbols).expand(cues, -1, -1)[..., None]


def _stacked(tables: list[Tensor], none: int) -> Tensor:
    """Tables with room for as many symbols as the fullest has."""
    most = max(t.shape[-1] for t in tables)
    return torch.stack([pad(t, (0, most - t.shape[-1]), value=none) for t in tables])


def _grow(table: Tensor, shape: tuple[int, ...], value: float) -> Tensor:
    """The table in the corner of a larger one."""
    room = [side - have for side, have in zip(shape, table.shape, strict=True)]
    return pad(table, [n for extra in reversed(room) for n in (0, extra)], value=value)
