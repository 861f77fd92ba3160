r"""Hit-and-run: lines in random directions through a polyhedron, with truncated normals. Exact for Q*.

Q* is N(f(x), vI), v = γσ², on S_y = {low ≤ A z ≤ high}. Along a unit direction d that keeps the equations, S_y is one
interval, and Q* is a normal law cut to it:

.. math:: t \sim N\big( d \cdot (f - z),\; v \big) \text{ on } [t_{lo}, t_{hi}], \qquad z \leftarrow z + t d .

d is chosen without looking at z, so that every such step leaves Q* invariant. Random directions in the plane of the
equations reach every part of S_y; the axes, as far as they lie in that plane, are the Gibbs sampler's directions, and
in a box one sweep of them is an independent draw. They take turns.

A component's conditional mean along its axis is reported beside the draw (Rao and Blackwell).

Reference: C. J. P. Bélisle, H. E. Romeijn and R. L. Smith, Hit-and-run algorithms for generating multivariate
distributions, Mathematics of Operations Research 18 (1993).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..dice import Dice, Sampler
from ..errors import ConstraintError
from ..inverses.base import Fibre, Inverse, Start
from ..inverses.enumeration import default_inverse
from ..inverses.sets import refuse_empty
from ..kernels.base import Info, Kernel, redrawn
from ..projections.base import Dropped
from ..target import Target
from . import truncated
from .gaussian import Gaussian, GaussianBelief, deviation
from .linear import ROUNDING, LinearRule, Polyhedra


@dataclass(frozen=True)
class HitAndRun(Kernel):
    """Target Q*; each step takes, ``sweeps`` times and for one site after the other, a random line and the site's axis.

    ``marginals`` says whether steps report conditional means, averaged over the sweeps, for a loss with less noise.
    """

    rule: LinearRule
    sweeps: int = 1
    marginals: bool = True

    def step(self, dice: Dice, z: Tensor, target: Target[GaussianBelief]) -> tuple[Tensor, Info]:
        bodies, centre, before = self.rule.polyhedra(target.answers), target.weights.mean, z
        scale, means = deviation(target, 1), torch.zeros_like(z)
        axes = torch.eye(z.shape[1], dtype=z.dtype, device=z.device)
        for site in [*range(len(axes))] * self.sweeps:
            for axis in (None, axes[site]):
                direction = bodies.along(_normal(dice, z) if axis is None else axis.expand_as(z))
                low, high = bodies.span(z, direction)
                at = (direction * (centre - z)).sum(-1)
                shift = truncated.draw(dice.uniform(len(z)), at, scale, low, high)
                if self.marginals and axis is not None:
                    mean = truncated.mean(at, scale, low, high)
                    means[:, site] += (z[:, site] + mean * direction[:, site]) / self.sweeps
                z = z + shift[:, None] * direction
        z = bodies.level(z)  # rounding errors would add up
        return z, redrawn(before, z, means if self.marginals else None)


def _normal(dice: Dice, z: Tensor) -> Tensor:
    # u = 0 would ask for −∞.
    normal: Tensor = torch.special.ndtri(dice.uniform(z.numel()).clamp(min=2.0**-54)).view_as(z)
    return normal


class Interior(Inverse):
    """First states, completions and nearest points of a :class:`~softground.reals.linear.LinearRule`.

    A fibre of reals is no list: it holds **one** completion, the nearest to the dropped entries handed in, and is
    incomplete; 'none exists' is a proof, by a linear program.

    >>> rule = LinearRule(lambda z, y: [z[0] + z[1] == y, z[0] <= z[1]], Gaussian(2))
    >>> target = Target(rule.space.belief(torch.tensor([[5.0, 1.0]])), rule.encode([4.0]), 1.0)
    >>> Interior(rule).most_probable(target).tolist()
    [[2.0, 2.0]]
    """

    cost = "solver"

    def __init__(self, rule: LinearRule) -> None:
        self.rule = self.constraint = rule
        self.space = rule.space

    def __repr__(self) -> str:
        return f"Interior({self.rule!r})"

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        whole, sites = self.rule.polyhedra(y), dropped.sites
        rest = whole.values(z.double().scatter(1, sites, 0.0))
        columns = whole.rows.gather(2, sites[:, None].expand(-1, whole.rows.shape[1], -1))
        few = Polyhedra.of(columns, whole.low - rest, whole.high - rest)
        values = few.nearest(z.gather(1, sites))
        exists = few.within(values)
        return Fibre(values[:, None], exists[:, None], _empty(few, ~exists))

    def start(self, y: Tensor, seed: int) -> Start:
        """Points with room around them, up to σ; then a step at γ = 1, so that chains of one answer part."""
        distinct, place = torch.unique(y, return_inverse=True)
        z, room = self.rule.polyhedra(distinct).middle(self.space.sigma)
        tight = (room.abs() <= ROUNDING).nonzero().flatten()
        if len(tight):
            example = int((place == tight[0]).nonzero()[0])
            raise ConstraintError(
                f"{int((room.abs() <= ROUNDING)[place].sum())} example(s), the first is {example} (answer "
                f"{self.rule.answer(y[example])!r}): the inequalities leave no room, since some of them can only hold "
                "as equations. Write these with ==, or widen their bounds."
            )
        z, found = z[place], (room > 0)[place]
        some = found.nonzero().flatten()
        belief = GaussianBelief(z[some], self.space.sigma**2)
        z[some] = HitAndRun(self.rule).step(Sampler(seed, y.device), z[some], Target(belief, y[some], 1.0))[0]
        return Start(z, found, torch.ones_like(found))

    def most_probable(self, target: Target[GaussianBelief]) -> Tensor:
        """The feasible point next to each example's mean, Q* at γ = 0."""
        bodies = self.rule.polyhedra(target.answers)
        z = bodies.nearest(target.weights.mean.detach())
        refuse_empty(_empty(bodies, ~bodies.within(z)))
        return z

    def default_kernel(self) -> Kernel:
        return HitAndRun(self.rule)


def _empty(bodies: Polyhedra, doubtful: Tensor) -> Tensor:
    """Which of the doubtful ones are empty, with proof."""
    empty, rows = torch.zeros_like(doubtful), doubtful.nonzero().flatten()
    if len(rows):
        empty[rows] = bodies.at(rows).middle(1.0)[1] < -ROUNDING
    return empty


@default_inverse.register
def _(constraint: LinearRule, space: Gaussian) -> Interior:
    return Interior(constraint)
