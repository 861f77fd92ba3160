r"""Scans whose state is a running sum, :math:`s_{t+1} = s_t + v_t(z_t)`, without tables.

A sum of n values from 0 to V has nV + 1 totals, and its tables n times as many entries: of 1,024 digits, 47 million.
Here the next state is an addition, made when a layer is asked for; the same code reads such layers and tables.

A running sum is known by its step, ``operator.add``, or noticed in the tables of any other step.

**Sums over S_y** go by a tree of convolutions: :math:`\log_2 n` rounds for n sites. The total
of a block of sites has a law p, and that of two neighbouring blocks is their convolution,

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

**The most probable z** is found among a few sites in doubt, and a bound says whether that was enough. Site by
site, the best z whose values add up to s takes n rounds over all totals. But a price θ for every unit of the sum leaves
the order of the z with that sum as it is, and with the right price the best symbol of each site, taken alone, all but
adds up to s. Relative to these, the **loss** of a value v at site i is

.. math:: \ell_i(v) = \max_u \big(\log w_i(u) + \theta u\big) - \big(\log w_i(v) + \theta v\big) \ge 0 ,

and the most probable z has the least loss in all. A reference r of nearly no loss misses s by one site's step at most.
The **core** are the sites at which leaving r costs least. All others stay as they are, and the core is searched site by
site. A z that leaves r outside the core loses at least what that costs at the cheapest of those sites. Where the z
found loses no more, it is the best there is; else the core is doubled, up to all sites. This holds for every θ and r,
but for rounding: good ones make it true at once.

References: F. Esscher, Scand. Actuar. J. 15 (1932); E. Balas and E. Zemel, Oper. Res. 28 (1980); D.
Pisinger, Eur. J. Oper. Res. 83 (1995).
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from ...dice import Dice
from .messages import LEAST, LOG_ZERO, OneByOne, likeliest, room
from .tabulate import Tabulation

LARGE = 2**16  # sites × totals from which a tree of convolutions is quicker than going site by site
SPARSE = 4  # how many numbers from the least total to the largest there may be for each total that occurs
TILTS = 16  # of Newton's method, each between bounds that close in
MARGIN = 60.0  # how much further than the scores' differences θ may go, besides log n
CORE = 32  # sites that are searched at first
PRICES = 24  # in which the price is looked for
ROUNDING = 1e-15  # of what is added up: losses that differ by less are equal
Blocks = tuple[list[Tensor], Tensor, Tensor]  # see Convolved._tree


class Totals(Sequence[Tensor]):
    """The layers of a running sum: ``values[n, K]`` from 0 up, of which site t has the first ``sizes[t]``."""

    def __init__(self, values: Tensor, sizes: Sequence[int]) -> None:
        self.values, self.sizes = values, list(sizes)
        most = [max(row[:size]) for row, size in zip(values.tolist(), self.sizes, strict=True)]
        self.reach = [0, *itertools.accumulate(most)]  # the largest total before each site, and at the end

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[t] for t in range(*place.indices(len(self)))]
        place = range(len(self))[place]
        here = torch.arange(self.reach[place] + 1, device=self.values.device)
        after = here[:, None] + self.values[place, : self.sizes[place]]
        return torch.nn.functional.pad(after, (0, 0, 0, 1), value=self.reach[place + 1] + 1)[None]

    def to(self, device: torch.device) -> Totals:
        """The same on another device."""
        return self if self.values.device == device else Totals(self.values.to(device), self.sizes)

    @cached_property
    def occurs(self) -> Tensor:
        """Which totals occur at the end, and that dead does not: ``[totals + 1]``."""
        # The bits of a whole number say which totals occur; a value shifts them.
        rows = zip(self.values.tolist(), self.sizes, strict=True)
        bits = 1
        for row, size in rows:
            bits = reduce(operator.or_, [bits << value for value in set(row[:size])])
        found = [bit == "1" for bit in reversed(f"{bits:0{self.reach[-1] + 2}b}")]
        return torch.tensor(found, device=self.values.device)


def summed(step: Callable[..., Any], start: Hashable, alphabets: Sequence[Sequence[Any]]) -> Tabulation | None:
    """The layers of a long sum that is known by its step; None for any other scan."""
    whole = step is operator.add and all(type(value) is int for value in (start, *itertools.chain(*alphabets)))
    return _long(start, alphabets) if whole else None


def noticed(found: Tabulation) -> Tabulation:
    """The same scan without its tables, where these turn out to be a long running sum."""
    if any(type(state) is not int for states in found.states for state in states):
        return found
    values: list[list[int]] = []
    for layer, here, after in zip(found.layers, found.states, found.states[1:], strict=False):
        rows = layer[0, :-1]
        if len(layer) > 1 or not len(after) or int(rows.max()) >= len(after):  # it sees cues, or refuses symbols
            return found
        more = torch.tensor(after)[rows] - torch.tensor(here)[:, None]
        if bool((more != more[0]).any()):
            return found
        values.append(more[0].tolist())
    return _long(found.states[0][0], values) or found


def _long(start: Any, values: Sequence[Sequence[int]]) -> Tabulation | None:
    """The scan of these values, one row for each site, if it is long and its totals are close to each other."""
    least = [min(row) for row in values]
    totals = 1 + sum(map(max, values)) - sum(least)
    if len(values) * totals < LARGE or totals > SPARSE * (1 + sum(len(set(row)) - 1 for row in values)):
        return None
    return tabulated(
        [[value - low for value in row] for row, low in zip(values, least, strict=True)], start + sum(least)
    )


def tabulated(values: Sequence[Sequence[int]], least: int) -> Tabulation:
    """The layers of values from 0 up, whose sums are told apart from ``least`` on."""
    sizes = [len(row) for row in values]
    layers = Totals(torch.tensor([[*row, *[0] * (max(sizes) - len(row))] for row in values]), sizes)
    ends: list[Sequence[Any]] = [range(reach + 1) for reach in layers.reach[:-1]]
    return Tabulation(layers, [*ends, range(least, least + layers.reach[-1] + 1)])


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
        """Draws down a tree."""
        total = dice.categorical(ends)[:, None]
        for blocks in reversed(levels):
            a, b = blocks[:, 0::2], blocks[:, 1::2]
            total = total[:, : a.shape[1]]  # without that of a block of no sites
            rest = total[..., None] - torch.arange(a.shape[2], device=a.device)
            fits = (rest >= 0) & (rest < b.shape[2])
            met = b.gather(2, rest.clamp(0, b.shape[2] - 1))
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
        for step in range(TILTS):
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


def likeliest_sum(layers: Totals, cues: Tensor, accepts: Tensor, scores: Tensor) -> Tensor:
    """The most probable z of each example, ``[batch, n]`` in reading order, as :func:`messages.likeliest` gives it."""
    having = layers.values.expand(len(scores), -1, -1)
    worth = scores.new_full((*scores.shape[:2], int(layers.values.max()) + 1), LOG_ZERO)
    worth = worth.scatter_reduce(2, having, scores, "amax")  # of a site's values, their likeliest symbols
    taken, loss, slack = _priced(worth, accepts[:, :-1])
    other = loss.scatter(2, taken[..., None], torch.inf).amin(-1)  # what leaving the reference costs
    other, order = other.sort(1)
    left, core = accepts[:, :-1].any(1).nonzero().flatten(), CORE
    while len(left) and core < len(layers):
        found = _in_core(order[left, :core], taken[left], loss[left], accepts[left])
        cost = loss[left].gather(2, found[..., None]).sum((1, 2))
        right = accepts[left].gather(1, found.sum(1, keepdim=True)).squeeze(1)
        right &= cost <= other[left, core] + slack[left]
        taken[left[right]] = found[right]
        left, core = left[~right], 2 * core
    z = torch.where(having == taken[..., None], scores, -torch.inf).argmax(-1)
    if len(left):
        z[left] = likeliest(layers, cues[left], accepts[left], scores[left])
    return z


def _in_core(core: Tensor, taken: Tensor, loss: Tensor, accepts: Tensor) -> Tensor:
    """The best values at the sites ``core[batch, sites]``, where all others are those ``taken``: ``[batch, n]``."""
    sites, most = core.shape[1], loss.shape[2] - 1
    own = loss.gather(1, core[..., None].expand(-1, -1, most + 1))
    fixed = taken.sum(1) - taken.gather(1, core).sum(1)
    final = fixed[:, None] + torch.arange(sites * most + 2, device=core.device)  # the last is dead
    last = accepts.shape[1] - 1
    ends = accepts.gather(1, final.clamp(max=last)) & (final < last)
    ends[:, -1] = False
    layers = Totals(torch.arange(most + 1, device=core.device).expand(sites, -1), [most + 1] * sites)
    return taken.scatter(1, core, likeliest(layers, torch.zeros_like(core), ends, -own))


def _priced(worth: Tensor, accepts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Reference values ``[batch, n]``, all losses ``[batch, n, values]``, and what rounding may add to their sum.

    Where y accepts one total, the reference is near it; where it accepts several, it is what is likeliest of all.
    """
    values, wanted = torch.arange(worth.shape[2], device=worth.device), accepts.to(torch.uint8).argmax(1)
    one = accepts.sum(1) == 1
    least = torch.where(worth > LOG_ZERO / 2, worth, torch.inf).amin(-1)
    high = (worth.amax(-1) - least).amax(1).clamp(min=0) + 1.0
    low, high = torch.where(one, -high, 0.0), torch.where(one, high, 0.0)

    def best(price: Tensor) -> Tensor:
        return torch.addcmul(worth, price[:, None, None], values.to(worth.dtype)).argmax(-1)

    for _ in range(PRICES):
        price = (low + high) / 2
        total = best(price).sum(1)
        low, high = torch.where(total <= wanted, price, low), torch.where(total >= wanted, price, high)
    less, more = best(low), best(high)
    steps = (more - less).cumsum(1)
    taken = torch.where(steps <= (wanted - less.sum(1))[:, None], more, less)
    # Where one price is left at which anything changes, it is where both are worth the same.
    worths = [worth.gather(2, each[..., None]).sum((1, 2)) for each in (less, more)]
    price = torch.where(steps[:, -1] > 0, (worths[0] - worths[1]) / steps[:, -1].clamp(min=1), high)
    price = torch.where(one, price.clamp(low, high), 0.0)
    priced = torch.addcmul(worth, price[:, None, None], values.to(worth.dtype))
    loss = priced.amax(-1, keepdim=True) - priced
    size = worth.gather(2, taken[..., None]).abs().sum((1, 2)) + price.abs() * taken.sum(1)
    return taken, loss, ROUNDING * size
