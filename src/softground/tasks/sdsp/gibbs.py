r"""Gibbs sampling of a Gaussian on difference constraints, by truncated normals. Exact for Q*.

Q* is N(f(x), γσ²I) cut to S_y. Along a block B of components shifted together, z + t·1_B, the feasible t form one
interval (:mod:`softground.tasks.sdsp.differences`), and Q* along that line is a normal law cut to it:

.. math:: t \sim N\Big( \tfrac{1}{|B|} \sum_{i \in B} (f_i - z_i),\; \gamma\sigma^2 / |B| \Big)
          \text{ on } [t_{lo}, t_{hi}] .

With single components, one after the other, this is the Gibbs sampler; with larger blocks it is its generalisation by
shifts, which moves whole regions that single components, held in place by their neighbours, cannot. Drawing t leaves Q*
invariant for every B that is chosen without looking at z.

Each draw's conditional mean is reported beside it (Rao and Blackwell): its expectation over the chain is Q*'s mean.

References: J. Geweke, Efficient simulation from the multivariate normal distribution subject to linear constraints
(1991); J. S. Liu and C. Sabatti, Generalised Gibbs sampler and multigrid Monte Carlo, Biometrika 87 (2000).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ...dice import Dice
from ...errors import LearnerError
from ...kernels.base import Info, Kernel, redrawn
from ...projections.base import Projection
from ...reals.gaussian import GaussianBelief, snap
from ...target import Target
from . import truncated
from .differences import Differences, Rows, bounds, interval

DENSE_SITES = 128  # components up to which looking at all rows is quicker than making lists of them


def deviation(target: Target[GaussianBelief], block: int) -> Tensor:
    """The standard deviation of a shift of ``block`` components; refuses temperatures without a law."""
    if not 0 < target.weights.variance < math.inf:
        raise LearnerError(
            f"γ = {target.gamma} was given to a Gibbs kernel for reals; expected a finite positive temperature: there "
            "is no uniform law on an unbounded set. Use a schedule without warm-up, and the PointMass kernel for γ = 0."
        )
    scale = math.sqrt(target.weights.variance / block)
    return torch.full((), scale, dtype=torch.float64, device=target.weights.mean.device)


@dataclass(frozen=True)
class SiteGibbs(Kernel):
    """Target Q*; each step draws every component in turn from its law given the others, ``sweeps`` times.

    ``marginals`` says whether steps report conditional means, averaged over the sweeps, for a loss with less noise.
    """

    rule: Differences
    sweeps: int = 1
    marginals: bool = True

    def step(self, dice: Dice, z: Tensor, target: Target[GaussianBelief]) -> tuple[Tensor, Info]:
        rows, centre, before, z = self.rule.rows(target.answers), target.weights.mean, z, z.clone()
        scale = deviation(target, 1)
        look = Everything(rows) if self.static(target) else Neighbours.of(rows)
        means = torch.zeros_like(z)
        for _ in range(self.sweeps):
            ends = []
            for site in range(z.shape[1]):
                low, high = bounds(*look.least(z, site))
                at, here = centre[:, site], z[:, site].clone()
                low, high = here + low, here + high
                z[:, site] = _on_grid(truncated.draw(dice.uniform(len(z)), at, scale, low, high), low, high)
                ends.append((low, high))
            if self.marginals:
                low, high = (torch.stack(side, 1) for side in zip(*ends, strict=True))
                means += truncated.mean(centre, scale, low, high)
        return z, redrawn(before, z, means / self.sweeps if self.marginals else None)

    def static(self, target: Target[GaussianBelief]) -> bool:
        # Lists of neighbours have lengths that must be asked of the device.
        return target.answers.shape[-1] <= DENSE_SITES


@dataclass(frozen=True)
class BlockGibbs(Kernel):
    """Target Q*; each step shifts the components that ``projection`` draws, together, by a truncated normal.

    ``marginals`` says whether steps report the block's conditional mean, for a loss with less noise.
    """

    rule: Differences
    projection: Projection
    marginals: bool = True

    def step(self, dice: Dice, z: Tensor, target: Target[GaussianBelief]) -> tuple[Tensor, Info]:
        centre, dropped = target.weights.mean, self.projection.draw(dice, len(z), z.device)
        sites, block = dropped.sites, ~dropped.kept(z.shape[1])
        low, high = interval(self.rule.rows(target.answers), z, block)
        at, scale = (centre - z).gather(1, sites).mean(-1), deviation(target, sites.shape[1])
        shift = _on_grid(truncated.draw(dice.uniform(len(z)), at, scale, low, high), low, high)
        after = torch.where(block, z + shift[:, None], z)
        means = None
        if self.marginals:
            means = torch.where(block, z + truncated.mean(at, scale, low, high)[:, None], z)
        return after, redrawn(z, after, means)


def _on_grid(value: Tensor, low: Tensor, high: Tensor) -> Tensor:
    # The ends are on the grid themselves.
    return torch.minimum(torch.maximum(snap(value), low), high)


class Everything:
    """All rows of all examples."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def least(self, z: Tensor, site: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Of each row, the least marked value with and without the component, then the least other values likewise."""
        here, beside = z[:, site, None], z.clone()
        beside[:, site] = math.inf
        return (
            self.rows.marked[:, :, site] + here,
            (self.rows.marked + beside[:, None]).amin(-1),
            self.rows.others[:, :, site] + here,
            (self.rows.others + beside[:, None]).amin(-1),
        )


class Neighbours(NamedTuple):
    """For each component: its weights in its rows, and the other entries of these rows; ∞ where there is none.

    A row without the component says nothing about it. So the rows that hold it are listed, and of these the entries:
    D and E are the most rows of a component and the most entries of a row. In a sparse graph both stay small as n
    grows, and a sweep takes time in proportion to n.
    """

    own_marked: Tensor  # [batch, n, D]
    own_other: Tensor
    marked: Tensor  # [batch, n, D, E]
    others: Tensor
    entry: Tensor  # which component each of these is

    @classmethod
    def of(cls, rows: Rows) -> Neighbours:
        """The lists of some rows; asks how long they must be."""
        n = rows.marked.shape[-1]
        there = torch.isfinite(rows.marked) | torch.isfinite(rows.others)
        most_rows, most_entries = (max(1, int(there.sum(axis).max())) if there.numel() else 1 for axis in (1, 2))
        entry = _first(there, most_entries)  # [batch, row, E]
        row = _first(there.transpose(1, 2), most_rows)  # [batch, n, D]

        entries = _rows_of(entry, row)
        own = entries == torch.arange(n, device=entry.device)[:, None, None]
        marked, others = (_rows_of(part.gather(2, entry), row) for part in (rows.marked, rows.others))
        own_marked, own_other = (part.transpose(1, 2).gather(2, row) for part in (rows.marked, rows.others))
        beside = (marked.masked_fill(own, math.inf), others.masked_fill(own, math.inf))
        return cls(own_marked, own_other, *beside, entries)

    def least(self, z: Tensor, site: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """As :meth:`Everything.least`, of the rows that hold the component."""
        here = z[:, site, None]
        entry = self.entry[:, site]
        beside = z.gather(1, entry.flatten(1)).view(entry.shape)
        return (
            self.own_marked[:, site] + here,
            (self.marked[:, site] + beside).amin(-1),
            self.own_other[:, site] + here,
            (self.others[:, site] + beside).amin(-1),
        )


def _first(there: Tensor, count: int) -> Tensor:
    """The places of the true entries along the last axis, ``count`` at most, filled up with place 0.

    The filling changes nothing: it repeats an entry of a list whose least is taken, or adds a row that is all ∞.
    """
    rank = torch.where(there, there.cumsum(-1) - 1, count)  # all others go to one place more, which is cut off
    places = torch.arange(there.shape[-1], device=there.device).expand_as(rank)
    return rank.new_zeros(*rank.shape[:-1], count + 1).scatter_(-1, rank, places)[..., :count]


def _rows_of(table: Tensor, row: Tensor) -> Tensor:
    """``table[batch, row, E]`` at ``row[batch, n, D]``: ``[batch, n, D, E]``."""
    batch, n, most = row.shape
    index = row.flatten(1)[..., None].expand(-1, -1, table.shape[-1])
    return table.gather(1, index).view(batch, n, most, -1)
