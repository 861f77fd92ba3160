r"""Real symbol vectors with a Gaussian distribution around the network's output.

.. math:: \log P(z|x) = -\frac{1}{2\sigma^2} \sum_{i=1}^{n} (z_i - f_i(x))^2 - n \log(\sigma\sqrt{2\pi}) .

Tempering keeps the form: P^{1/γ} is, up to a factor, Gaussian with variance γσ².

Chains hold whole multiples of :data:`GRID` in double precision. Sums and differences of such numbers (below 2³² in
size) are exact, so feasibility depends neither on rounding errors nor on a tolerance.

Reference: Z. Li et al., ICLR 2023, Section 5.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..dice import Dice, any_of
from ..errors import ProjectionError, SpaceError
from ..projections.base import Move
from ..spaces.base import Space, check_output

GRID = 2.0**-20
SMALLEST_SIGMA = 1e-150  # whose square is still a number; so is the square of its inverse, the largest


def snap(values: Tensor) -> Tensor:
    """The nearest multiples of the grid, in double precision."""
    return (values.double() / GRID).round() * GRID


class Gaussian(Space):
    """Vectors of reals, z ~ N(f(x), σ²I).

    σ is the standard deviation that the network is credited with at γ = 1.

    >>> Gaussian(30)
    Gaussian(30 reals, σ = 1)
    """

    categorical = False

    def __init__(self, sites: int, sigma: float = 1.0) -> None:
        if sites < 1:
            raise SpaceError(f"{sites} sites were given; a space needs at least one.")
        if not SMALLEST_SIGMA < sigma < 1 / SMALLEST_SIGMA:
            raise SpaceError(f"σ = {sigma} was given; expected a number between 1e-150 and 1e+150.")
        self.sites = sites
        self.sigma = sigma

    def __repr__(self) -> str:
        return f"Gaussian({self.sites} reals, σ = {self.sigma:g})"

    def encode(self, states: Sequence[Sequence[float]]) -> Tensor:
        """Rows of numbers to states on the grid, ``[len(states), sites]``."""
        for row, state in enumerate(states):
            if len(state) != self.sites:
                raise SpaceError(f"State {row} has {len(state)} numbers; this space has {self.sites} sites.")
        return snap(torch.tensor([list(map(float, s)) for s in states], dtype=torch.float64).reshape(-1, self.sites))

    def decode(self, z: Tensor) -> list[tuple[float, ...]]:
        """States to tuples of floats."""
        return [tuple(row) for row in z.tolist()]

    def uniform(self, batch: int, device: torch.device) -> GaussianBelief:
        """The flat distribution."""
        return GaussianBelief(torch.zeros(batch, self.sites, dtype=torch.float64, device=device), math.inf)

    def belief(self, output: Tensor, *, finite: bool = False) -> GaussianBelief:
        """The network's output ``[batch, sites]`` as the mean of P(z|x)."""
        check_output(output, {"sites": self.sites}, "one mean per site", finite)
        return GaussianBelief(output, self.sigma**2, 1.0)


@dataclass(frozen=True, eq=False)
class GaussianBelief:
    """N(mean, variance·I) for a batch of means ``[batch, sites]``; variance ∞ is flat, 0 a point."""

    mean: Tensor
    variance: float
    gamma: float | None = None  # the temperature of the weights, if known

    def __len__(self) -> int:
        return len(self.mean)

    def expected(self, taught: Tensor) -> Tensor:
        """log P of states or a law's means ``[batch, sites]`` at each site, up to what the network has no part in."""
        if not 0 < self.variance < math.inf:
            return torch.zeros_like(self.mean)
        square = (taught.to(self.mean.dtype) - self.mean).square()
        return -square / (2 * self.variance) - 0.5 * math.log(2 * math.pi * self.variance)

    def log_prob(self, z: Tensor) -> Tensor:
        return self.expected(z).sum(-1)

    def mode(self) -> Tensor:
        return snap(self.mean.detach())

    def sample(self, dice: Dice) -> Tensor:
        if math.isinf(self.variance):
            raise SpaceError("The flat law over all reals (γ = ∞) cannot be sampled; lower the temperature.")
        u = dice.uniform(self.mean.numel()).view_as(self.mean)
        # u = 0 would ask for −∞.
        normal = torch.special.ndtri(u.clamp(min=2.0**-54))
        return snap(self.mean.detach() + math.sqrt(self.variance) * normal)

    def detach(self) -> GaussianBelief:
        return replace(self, mean=self.mean.detach())

    def rows(self, index: Tensor | slice) -> GaussianBelief:
        return replace(self, mean=self.mean[index])

    def tempered(self, gamma: float) -> GaussianBelief:
        """N(mean, γσ²I), in double precision: energies at low γ are large. γ = 0 is the point mass at the mean."""
        if not gamma >= 0:
            raise SpaceError(f"γ = {gamma} was given; a temperature is not negative (∞ samples uniformly).")
        return GaussianBelief(self.mean.double(), gamma * self.variance, gamma)

    def marginals(self) -> Tensor:
        """The means, ``[batch, sites]``."""
        return self.mean

    def marginal_log_prob(self, marginals: Tensor) -> Tensor:
        """log P at a law's means ``[batch, sites]``: its expected log P, up to what does not depend on the network."""
        return self.log_prob(marginals)


class AddNoise(Move):
    """A move: add noise, uniform on [−width, width], to one kept component chosen uniformly. Symmetric.

    This is the paper's walk for shortest paths.

    >>> AddNoise(5.0)
    AddNoise(5.0)
    """

    def __init__(self, width: float = 5.0) -> None:
        if not 0 < width < math.inf:
            raise ProjectionError.of({"width": width}, "expected a positive finite number.")
        self.width = width

    def __repr__(self) -> str:
        return f"AddNoise({self.width})"

    def propose(self, dice: Dice, z: Tensor, kept: Tensor) -> Tensor:
        site = any_of(dice, kept)[:, None]
        noise = snap(self.width * (2 * dice.uniform(len(z)) - 1))
        return z.scatter_add(1, site, noise[:, None])
