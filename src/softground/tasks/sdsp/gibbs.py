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

import torch
from torch import Tensor

from ...dice import Dice
from ...errors import LearnerError
from ...kernels.base import Info, Kernel, redrawn
from ...projections.base import Projection
from ...reals.gaussian import GaussianBelief, snap
from ...target import Target
from .differences import DifferenceRows, Differences, bounds, interval
from .truncated import draw as draw_truncated
from .truncated import mean as truncated_mean


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
        means = torch.zeros_like(z)
        for _ in range(self.sweeps):
            ends = []
            for site in range(z.shape[1]):
                low, high = bounds(*least_sides(rows, z, site))
                at, here = centre[:, site], z[:, site].clone()
                low, high = here + low, here + high
                z[:, site] = _on_grid(draw_truncated(dice.uniform(len(z)), at, scale, low, high), low, high)
                ends.append((low, high))
            if self.marginals:
                low, high = (torch.stack(side, 1) for side in zip(*ends, strict=True))
                means += truncated_mean(centre, scale, low, high)
        return z, redrawn(before, z, means / self.sweeps if self.marginals else None)


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
        shift = _on_grid(draw_truncated(dice.uniform(len(z)), at, scale, low, high), low, high)
        after = torch.where(block, z + shift[:, None], z)
        means = None
        if self.marginals:
            means = torch.where(block, z + truncated_mean(at, scale, low, high)[:, None], z)
        return after, redrawn(z, after, means)


def _on_grid(value: Tensor, low: Tensor, high: Tensor) -> Tensor:
    # The ends are on the grid themselves.
    return torch.minimum(torch.maximum(snap(value), low), high)


def least_sides(rows: DifferenceRows, z: Tensor, site: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """For each row the least marked value with and without the component, then the least other value in both ways."""
    here, beside = z[:, site, None], z.clone()
    beside[:, site] = math.inf
    return (
        rows.marked[:, :, site] + here,
        (rows.marked + beside[:, None]).amin(-1),
        rows.others[:, :, site] + here,
        (rows.others + beside[:, None]).amin(-1),
    )
