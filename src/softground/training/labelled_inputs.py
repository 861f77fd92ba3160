r"""Learning from anchors: a few labelled inputs of single symbols beside the examples.

Every step adds

.. math:: \lambda \cdot \frac{1}{m} \sum_{k=1}^{m} -\log P_i(s_k | a_k)

for m random anchors a_k with symbols s_k, each at a random site i whose alphabet has its symbol: the same loss as a
known symbol at that site. Anchors are combined into inputs of the examples' shape, distorted like them, and read in the
same batch. That needs a network whose output at a site depends only on that site's input.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from ..data.anchors import Anchors
from ..errors import LearnerError
from .step import Batch, Term, TrainingSet


@dataclass(frozen=True, eq=False)
class Drawing:
    """How anchors are drawn for the sites of one space."""

    codes: Tensor  # of each anchor at every site ``[sites, anchors]``, −1 where it does not suit the site
    order: Tensor  # of each site, the anchors that suit it first
    count: Tensor  # how many these are
    rows: int  # inputs to put together for a step, by all processes together

    @classmethod
    def of(cls, anchors: Anchors, space: Any, device: torch.device) -> Drawing:
        codes = anchors.codes(space).to(device)
        order = (codes < 0).long().argsort(dim=1, stable=True)
        return cls(codes, order, (codes >= 0).sum(1), math.ceil(anchors.batch / space.sites))

    def draw(self, chance: torch.Generator | None) -> tuple[Tensor, Tensor]:
        """Anchors ``[rows, sites]`` that suit their sites where any does, and their codes."""
        uniform = torch.rand(self.rows, len(self.count), generator=chance, dtype=torch.float64).to(self.count.device)
        chosen = self.order.gather(1, (uniform * self.count).long().T)
        return chosen.T, self.codes.gather(1, chosen).T


@dataclass(frozen=True, eq=False)
class LabelledInputs(Term):
    """The step's share of anchors."""

    anchors: Anchors
    drawing: Drawing | None = None
    process: tuple[int, int] = (0, 1)

    def begin(self, train: TrainingSet) -> LabelledInputs:
        drawing = Drawing.of(self.anchors, train.task.space, train.y.device)
        anchors = replace(self.anchors, inputs=self.anchors.inputs.to(train.y.device))
        return LabelledInputs(anchors, drawing, train.process)

    def inputs(self, batch: Batch) -> None:
        assert self.drawing is not None
        self.anchors.fit(batch.task.space, tuple(batch.x.shape[1:]), batch.x.dtype)
        chosen, codes = self.drawing.draw(batch.order)
        own = slice(self.process[0], None, self.process[1])
        batch.add(self, self.anchors.inputs[chosen[own]], codes)

    def loss(self, batch: Batch) -> None:
        rows, codes = batch.added[self]
        own = codes[self.process[0] :: self.process[1]]
        found = batch.outputs.rows(rows).log_known(own).sum()
        batch.losses.append(-self.anchors.weight * found / (codes >= 0).sum().clamp(min=1))


def check_reads_apart(network: nn.Module, anchors: Anchors, space: Any, device: torch.device) -> None:
    """Refuse anchors for a network, in evaluation mode, whose output at a site depends on other sites' inputs."""
    if space.sites == 1:
        return
    drawing, chance = Drawing.of(anchors, space, device), torch.Generator().manual_seed(0)
    one, two = (anchors.inputs.to(device)[drawing.draw(chance)[0]] for _ in range(2))
    even = torch.arange(one.shape[1], device=one.device) % 2 == 0
    mixed = torch.where(even.view(1, -1, *[1] * (one.dim() - 2)), one, two)
    with torch.no_grad():
        own, other, both = (network(x) for x in (one, two, mixed))
    apart = torch.where(even[:, None], own, other)
    if not torch.allclose(both, apart, rtol=1e-3, atol=1e-3 * float(apart.abs().max())):
        raise LearnerError(
            f"Anchors were given, but what this {type(network).__name__} reads at a site depends on the inputs of "
            "other sites too. Use a network that reads every site by itself, such as PerSite, or give known "
            "symbols of whole examples: Examples(x, y, known=…)."
        )
