r"""Sums over S_y for a running sum, by a tree of convolutions: :math:`\log_2 n` rounds for n sites.

The total of a block of sites has a law p, and that of two neighbouring blocks is their convolution,

.. math:: p_{AB}(s) = \sum_j p_A(j)\, p_B(s - j) ,

all pairs of a round in one batched product of matrices. Draws go down the same tree: given the total s of a pair, that
of its first block has the weights :math:`p_A(j)\, p_B(s - j)`. Marginals are the gradient of log Z, a backward pass
through the tree.

**Tilting.** The mass of a total far out in the tails may be less than any double. With every weight multiplied by
:math:`e^{\theta v}`, a z in S_y, whose values add up to s, weighs :math:`e^{\theta s}` times as much: θ, by Newton's
method, moves the mean to the nearest total that y accepts, and is undone exactly, :math:`\log Z = \log Z_\theta -
\theta s`.

**Error.** The convolutions add up products of positive numbers, so that nothing cancels: every p(s), however small, has
a relative error of at most about :math:`s\,\varepsilon`, ε = 2.2·10⁻¹⁶ (for 1,024 digits 2·10⁻¹²; mostly far less). A
Fourier transform would be wrong by ε times the *largest* p, and a confident network gives the true total less than
that, tilted or not. What is less than 10⁻³⁰⁸ is lost; where that could be seen in the result, it is computed again
site by site in logarithms.

Reference: tilting is F. Esscher's, Scand. Actuar. J. 15 (1932).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from ...dice import Dice
from .messages import LEAST, LOG_ZERO, OneByOne, room
from .totals import Totals

STEPS = 16  # of Newton's method, each between bounds that close in
MARGIN = 60.0  # how much further than the scores' differences θ may go, besides log n
Blocks = tuple[list[Tensor], Tensor, Tensor]  # see Convolved._tree


@dataclass(frozen=True, eq=False)
class Convolved:
    """The recursion over a tree of neighbouring blocks, for the layers of a running sum."""

    layers: Totals

    def shown(self, cues: Tensor, accepts: Tensor) -> tuple[Tensor, Tensor]:
        """The answers' cues and accepted states, as they are."""
        return cues, accepts

    def log_partition(self, cues: Tensor, accepts: Tensor, scores: Tensor) -> Tensor:
        """log Σ w(z) over S_y, ``[batch]``; its gradient with respect to the scores is Q*'s marginals."""
        return self._total(self._tree(accepts, scores), cues, accepts, scores)

    def sample(self, cues: Tensor, accepts: Tensor, scores: Tensor, dice: Dice) -> Tensor:
        """Draws from Q*, ``[batch, n]`` in reading order."""
        return self._drawn(self._tree(accepts, scores), dice, cues, accepts, scores)

    def sample_alike(self, cues: Tensor, accepts: Tensor, scores: Tensor, dice: Dice) -> Tensor:
        """Draws for examples that all have the ``scores[1, n, K]``: one tree for all, but for totals in its tails."""
        tilt, drawn, most = scores.new_zeros(1), [], self.together(scores.device)
        levels, law, norm = self._laws(scores, tilt)
        for shown, some in zip(torch.split(cues, most), torch.split(accepts, most), strict=True):
            ends, lost = self._ends(some[:, :-1], law, norm, tilt)
            z, rows = self._down(levels, ends, dice, scores), lost.nonzero().flatten()
            if len(rows):
                z[rows] = self.sample(shown[rows], some[rows], scores.expand(len(rows), -1, -1), dice)
            drawn.append(z)
        return torch.cat(drawn)

    def sample_with_total(self, cues: Tensor, accepts: Tensor, scores: Tensor, dice: Dice) -> tuple[Tensor, Tensor]:
        """Both from the same tree; only the total is differentiable."""
        tree = self._tree(accepts, scores)
        with torch.no_grad():
            z = self._drawn(tree, dice, cues, accepts, scores)
        return z, self._total(tree, cues, accepts, scores)

    def final_state(self, cues: Tensor, z: Tensor) -> Tensor:
        """Where reading z ends, ``[batch]``."""
        return self.layers.values.expand(len(z), -1, -1).gather(2, z[..., None]).sum((1, 2))

    def together(self, device: torch.device) -> int:
        """How many examples' trees fit into memory: the last convolution of W totals takes a few times W^1.5."""
        return max(1, room(device) // int(8 * (self.layers.reach[-1] + 1) ** 1.5))

    def _total(self, tree: Blocks, cues: Tensor, accepts: Tensor, scores: Tensor) -> Tensor:
        _, ends, lost = tree
        total, rows = ends.logsumexp(1), lost.nonzero().flatten()
        if len(rows):
            again = OneByOne(self.layers).log_partition(cues[rows], accepts[rows], scores[rows])
            total = total.index_copy(0, rows, again)
        return total

    def _drawn(self, tree: Blocks, dice: Dice, cues: Tensor, accepts: Tensor, scores: Tensor) -> Tensor:
        levels, ends, lost = tree
        z, rows = self._down(levels, ends, dice, scores), lost.nonzero().flatten()
        if len(rows):
            z[rows] = OneByOne(self.layers).sample(cues[rows], accepts[rows], scores[rows], dice)
        return z

    def _down(self, levels: list[Tensor], ends: Tensor, dice: Dice, scores: Tensor) -> Tensor:
        """Draws down a tree, or down one that all examples share."""
        total = dice.categorical(ends)[:, None]
        for blocks in reversed(levels):
            a, b = blocks[:, 0::2], blocks[:, 1::2]
            total = total[:, : a.shape[1]]  # without that of a block of no sites
            rest = total[..., None] - torch.arange(a.shape[2], device=a.device)
            fits = (rest >= 0) & (rest < b.shape[2])
            met = b.expand(len(total), -1, -1).gather(2, rest.clamp(0, b.shape[2] - 1))
            weights = (a * met * fits).log()
            first = dice.categorical(weights.flatten(0, 1)).view(total.shape)
            total = torch.stack([first, total - first], 2).flatten(1)
        # Of a site's value, the symbols that have it.
        having = self.layers.values == total[:, : len(self.layers), None]
        return dice.categorical(torch.where(having, scores, -torch.inf).flatten(0, 1)).view(
            len(total), len(self.layers)
        )

    def _tree(self, accepts: Tensor, scores: Tensor) -> Blocks:
        """The laws of all blocks below the root, the log-weights of final totals, and where these are too small."""
        tilt = self._tilt(accepts[:, :-1], scores)
        levels, law, norm = self._laws(scores, tilt)
        return levels, *self._ends(accepts[:, :-1], law, norm, tilt)

    def _laws(self, scores: Tensor, tilt: Tensor) -> tuple[list[Tensor], Tensor, Tensor]:
        """The laws of all blocks below the root, that of the root, and log-weights by which it was divided.

        Each level is ``[batch, blocks, totals]`` with an even number of blocks: a block of no sites, whose total is 0,
        fills up.
        """
        tilted = scores + tilt[:, None, None] * self.layers.values.to(scores.dtype)
        norm = tilted.detach().logsumexp(-1)  # a constant, so that marginals are products without a difference
        weights = (tilted - norm[..., None]).exp()
        at = self.layers.values.expand(len(scores), -1, -1)
        blocks = weights.new_zeros(*weights.shape[:2], int(self.layers.values.max()) + 1).scatter_add(2, at, weights)
        levels = []
        while blocks.shape[1] > 1:
            if blocks.shape[1] % 2:
                none = pad(blocks.new_ones(len(blocks), 1, 1), (0, blocks.shape[2] - 1))
                blocks = torch.cat([blocks, none], 1)
            levels.append(blocks)
            blocks = convolve(blocks[:, 0::2], blocks[:, 1::2])
        return levels, blocks[:, 0, : self.layers.reach[-1] + 1], norm

    def _ends(self, accepts: Tensor, law: Tensor, norm: Tensor, tilt: Tensor) -> tuple[Tensor, Tensor]:
        """The log-weights of accepted totals, and where these are too small."""
        undone = -tilt[:, None] * torch.arange(law.shape[1], device=law.device)
        here = accepts & (law > 0)
        ends = torch.where(here, torch.where(here, law, 1.0).log() + undone, LOG_ZERO)
        most = undone.masked_fill(~accepts, -torch.inf).amax(1)  # what 10⁻³⁰⁸ may be multiplied by at the end
        lost = ends.detach().logsumexp(1) < most + math.log(LEAST)
        return (ends + norm.sum(1, keepdim=True)).clamp(min=LOG_ZERO), lost

    @torch.no_grad()
    def _tilt(self, accepts: Tensor, scores: Tensor) -> Tensor:
        """θ for each example: the mean total is then that of the accepted ones which it was nearest to, within 1/2."""
        values, totals = self.layers.values.to(scores.dtype), torch.arange(accepts.shape[1], device=scores.device)
        least = torch.where(scores > LOG_ZERO / 2, scores, torch.inf).amin(-1)
        high = (scores.amax(-1) - least).amax(1).clamp(min=0) + MARGIN + math.log(len(self.layers))
        low, tilt, wanted = -high, torch.zeros_like(high), torch.zeros_like(high)
        for step in range(STEPS):
            law = (scores + tilt[:, None, None] * values).softmax(-1)
            means = (law * values).sum(-1)
            mean, variance = means.sum(1), ((law * values**2).sum(-1) - means**2).sum(1)
            if not step:
                far = (totals - mean[:, None]).abs().masked_fill(~accepts, torch.inf)
                wanted = far.argmin(1).to(scores.dtype)
            gap = wanted - mean
            low, high = torch.where(gap > 0, tilt, low), torch.where(gap < 0, tilt, high)
            newton = tilt + gap / variance.clamp(min=LEAST)
            better = torch.where((newton > low) & (newton < high), newton, (low + high) / 2)
            tilt = torch.where(gap.abs() > 0.5, better, tilt)
        return tilt


def convolve(a: Tensor, b: Tensor) -> Tensor:
    """The convolutions of ``[…, L]`` with ``[…, L]``, ``[…, 2L − 1]``, as one batched product of matrices.

    The first is cut into √L rows, each of which meets all windows of the second that are as long as a row.

    >>> convolve(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 10.0, 100.0])).tolist()
    [1.0, 12.0, 123.0, 230.0, 300.0]
    """
    length = a.shape[-1]
    width = math.isqrt(length - 1) + 1
    count = -(-length // width)
    rows = pad(a, (0, count * width - length)).view(*a.shape[:-1], count, width).flip(-1)
    parts = rows @ pad(b, (width - 1, width - 1)).unfold(-1, width, 1).transpose(-1, -2)
    # Row r belongs r · width places further: rows that much too long, read as rows of the right length.
    total = count * width + length - 1
    skewed = pad(parts, (0, total + width - parts.shape[-1])).flatten(-2)[..., : count * total]
    return skewed.reshape(*a.shape[:-1], count, total).sum(-2)[..., : 2 * length - 1]
