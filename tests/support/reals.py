"""Small problems over reals whose Q* can be integrated numerically: difference constraints, with and without ties."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from softground.reals import Gaussian, GaussianBelief
from softground.reals.gaussian import snap
from softground.target import Target
from softground.tasks.sdsp import Differences

Statistic = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Reals:
    """``rows`` are pairs (marked, others) of weights by place: {place: weight}."""

    name: str
    sites: int
    rows: tuple[tuple[dict[int, float], dict[int, float]], ...]
    centre: tuple[float, ...]
    margin: float = 0.0
    sigma: float = 0.9
    _integrals: dict[tuple[float, int], dict[str, float]] = field(default_factory=dict, repr=False)

    @property
    def rule(self) -> Differences:
        return Differences(Gaussian(self.sites, self.sigma), self.margin)

    def answer(self, batch: int = 1) -> Tensor:
        weights, marks = torch.zeros(2, self.sites, self.sites, dtype=torch.float64)
        for j, (marked, others) in enumerate(self.rows):
            for k, w in {**marked, **others}.items():
                weights[j, k] = w
            for k in marked:
                marks[j, k] = 1
        return self.rule.encode([torch.stack([weights, marks])]).expand(batch, -1, -1, -1)

    def target(self, batch: int, gamma: float) -> Target[GaussianBelief]:
        mean = torch.tensor([self.centre], dtype=torch.float64).expand(batch, -1)
        return Target.at(self.rule.space.belief(mean), self.answer(batch), gamma)

    def statistics(self) -> dict[str, Statistic]:
        """Moments and events that pin the law down, sign errors included."""
        found: dict[str, Statistic] = {}
        for i in range(self.sites):
            found[f"E z{i}"] = lambda z, i=i: z[:, i]
            for shift in (-0.8, 0.0, 0.8):
                found[f"P(z{i} < c{shift:+})"] = lambda z, i=i, s=shift: (z[:, i] < self.centre[i] + s).double()
            for k in range(i, self.sites):
                found[f"E z{i} z{k}"] = lambda z, i=i, k=k: z[:, i] * z[:, k]
        return found

    def integrals(self, gamma: float, points: int) -> dict[str, float]:
        """The statistics' expectations under Q*, by the midpoint rule over ±6 standard deviations."""
        if (gamma, points) not in self._integrals:
            self._integrals[gamma, points] = self._integrate(gamma, points)
        return self._integrals[gamma, points]

    def _integrate(self, gamma: float, points: int) -> dict[str, float]:
        sd = self.sigma * math.sqrt(gamma)
        axis = (torch.arange(points, dtype=torch.float64) + 0.5) / points * 12 - 6
        grid = torch.cartesian_prod(*[axis] * self.sites).view(-1, self.sites)
        z = torch.tensor(self.centre, dtype=torch.float64) + sd * grid
        weight = (-grid.square().sum(-1) / 2).exp() * self.naive(z)
        return {name: float((weight * f(z)).sum() / weight.sum()) for name, f in self.statistics().items()}

    def naive(self, z: Tensor) -> Tensor:
        """Feasibility written out entry by entry, independent of the library's."""
        good = torch.ones(len(z), dtype=torch.bool)
        for marked, others in self.rows:
            hit = torch.zeros(len(z), dtype=torch.bool)
            for h, w in marked.items():
                beats = torch.ones(len(z), dtype=torch.bool)
                for k, v in others.items():
                    beats &= z[:, h] + w + self.margin <= z[:, k] + v
                hit |= beats
            good &= hit if marked else True
        return good

    def exact_draws(self, count: int, gamma: float, seed: int) -> Tensor:
        """Independent draws from Q*, by rejection."""
        generator = torch.Generator().manual_seed(seed)
        sd, kept, have = self.sigma * math.sqrt(gamma), [], 0
        while have < count:
            noise = torch.randn(4 * count, self.sites, generator=generator, dtype=torch.float64)
            z = snap(torch.tensor(self.centre, dtype=torch.float64) + sd * noise)
            kept.append(z[self.naive(z)])
            have += len(kept[-1])
        return torch.cat(kept)[:count]


PROBLEMS = (
    Reals("two sites", 2, (({0: 1.0}, {1: 2.0}), ({}, {})), (0.9, -0.4)),
    Reals("a strip", 2, (({0: 1.0}, {1: 2.0}), ({1: 1.0}, {0: 1.5})), (0.9, -0.4), margin=0.125),
    Reals("three sites", 3, (({0: 1.0}, {1: 1.0, 2: 3.0}), ({1: 2.0}, {2: 2.5}), ({}, {})), (0.5, 0.0, -0.6)),
    Reals("ties", 3, (({0: 1.0, 1: 1.0}, {2: 1.0}), ({1: 2.0}, {0: 3.0}), ({}, {})), (0.5, 0.7, -0.2)),
)
