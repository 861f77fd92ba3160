r"""Reals whose errors carry over from one site to the next.

A space tells what a symbol vector is, and turns the network's output into a distribution P(z|x), the *belief*. Rules
and kernels for symbols need ``Categorical``; those for reals need only the methods below.

With r = z − f(x), the errors e₁ = r₁ and e_i = r_i − ρ r_{i−1} are independent, each N(0, σ²), so that

.. math:: \log P(z|x) = -\frac{1}{2\sigma^2} \sum_i e_i^2 - n \log(\sigma\sqrt{2\pi}) .
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from softground.dice import Dice
from softground.errors import NonFiniteOutput, SpaceError
from softground.reals import snap
from softground.spaces import Space


class Autoregressive(Space):
    """Vectors of reals around the network's output, which gives one number per site.

    >>> belief = Autoregressive(2, rho=0.5).belief(torch.tensor([[1.0, 2.0]]))
    >>> belief.log_prob(torch.tensor([[1.0, 2.0]])) - belief.log_prob(torch.tensor([[3.0, 3.0]]))
    tensor([2.])
    """

    categorical = False

    def __init__(self, sites: int, rho: float = 0.5, sigma: float = 1.0) -> None:
        self.sites, self.rho, self.sigma = sites, rho, sigma

    def belief(self, output: Any, *, finite: bool = False) -> AutoregressiveBelief:
        if tuple(output.shape[1:]) != (self.sites,):
            raise SpaceError(f"The network's output has shape {tuple(output.shape)}; expected (batch, {self.sites}).")
        if not finite and not torch.isfinite(output).all():
            raise NonFiniteOutput("The network's output holds NaN or infinity. Lower the learning rate.")
        return AutoregressiveBelief(output, self.rho, self.sigma**2)

    def uniform(self, batch: int, device: torch.device) -> AutoregressiveBelief:
        return AutoregressiveBelief(torch.zeros(batch, self.sites, dtype=torch.float64, device=device), 0.0, math.inf)

    def encode(self, states: Sequence[Sequence[float]]) -> Tensor:
        return snap(torch.tensor([list(state) for state in states], dtype=torch.float64).reshape(-1, self.sites))

    def decode(self, z: Tensor) -> list[tuple[float, ...]]:
        return [tuple(row) for row in z.tolist()]


@dataclass(frozen=True, eq=False)
class AutoregressiveBelief:
    """P(z|x) for a batch of means ``[batch, sites]``; an infinite variance is the flat distribution."""

    mean: Tensor
    rho: float
    variance: float

    def __len__(self) -> int:
        return len(self.mean)

    def log_prob(self, z: Tensor) -> Tensor:
        r = z.to(self.mean.dtype) - self.mean
        if math.isinf(self.variance):
            return torch.zeros_like(r[:, 0])
        e = r - self.rho * pad(r, (1, 0))[:, :-1]
        return -e.square().sum(-1) / (2 * self.variance) - r.shape[1] / 2 * math.log(2 * math.pi * self.variance)

    def mode(self) -> Tensor:
        return snap(self.mean.detach())

    def sample(self, dice: Dice) -> Tensor:
        u = dice.uniform(self.mean.numel()).view_as(self.mean)
        e = math.sqrt(self.variance) * torch.special.ndtri(u.clamp(min=2.0**-54))
        for site in range(1, e.shape[1]):
            e[:, site] += self.rho * e[:, site - 1]
        return snap(self.mean.detach() + e)

    def tempered(self, gamma: float) -> AutoregressiveBelief:
        """P^{1/γ} has the variance γσ²."""
        return replace(self, mean=self.mean.double(), variance=gamma * self.variance)

    def rows(self, index: Tensor | slice) -> AutoregressiveBelief:
        return replace(self, mean=self.mean[index])

    def detach(self) -> AutoregressiveBelief:
        return replace(self, mean=self.mean.detach())

    def marginals(self) -> Tensor:
        return self.mean

    def marginal_log_prob(self, marginals: Tensor) -> Tensor:
        """Expected log P of a distribution known by its means, up to a constant of the network."""
        return self.log_prob(marginals)
