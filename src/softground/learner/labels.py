r"""Labels beside answers in a training step: known symbols and anchors.

With the known symbols k of an example, all that an objective does is conditional on them: it is given
:math:`P(z|x, z_K = k)`, which is certain at the known sites K, and the loss gets what they add to −log P(z|x),

.. math:: -\frac1n \sum_{i \in K} \log P_i(k_i|x) ,

averaged over the batch. For the softened grounding and the semantic loss that is the loss on what is left of S_y, since
:math:`P(z|x) = P(z_K|x)\,P(z|x, z_K)`; for the others it is theirs on the unknown sites, and cross-entropy on the
known.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from ..data.gathered import Gathered
from ..errors import LearnerError
from ..target import Target
from ..task import Task
from .batches import Batches
from .evaluation import like_weights, reader

ROWS = 512  # examples whose known symbols are held against their answers at a time


class Labels:
    """What the training set ``train`` knows besides its encoded answers ``y``."""

    def __init__(self, task: Task, train: Batches, y: Tensor, world: int = 1) -> None:
        self.task, self.known, self.anchors, self.train = task, train.known, train.anchors, train
        if self.known is not None:
            self._refuse_contradictions(y, self.known)
        if self.anchors is not None:
            codes = self.anchors.codes(task.space).to(y.device)
            # The anchors that suit each site come first in its row.
            self.choices = (codes < 0).long().argsort(dim=1, stable=True)
            self.codes, self.suit = codes, (codes >= 0).sum(1)
            self.inputs = self.anchors.inputs.to(y.device)
            self.rows = math.ceil(self.anchors.batch / world / task.space.sites)

    def _refuse_contradictions(self, y: Tensor, known: Tensor) -> None:
        """Raise where nothing of S_y is left, if the law on S_y is known; elsewhere the first states will tell."""
        if not self.task.inverse.exact:
            return
        for rows in torch.split((known >= 0).any(1).nonzero().flatten(), ROWS):
            weights = self.task.space.uniform(len(rows), y.device).given(known[rows])
            mass = self.task.inverse.law(Target(weights, y[rows], 1.0)).log_mass()
            lost = rows[torch.isneginf(mass)]
            if len(lost):
                raise self.task.contradicted(y[lost], self.train.at(lost).tolist())

    def probe(self, network: nn.Module) -> None:
        """Refuse anchors for a network whose output at a site depends on other sites' inputs."""
        if self.anchors is None or self.task.space.sites == 1:
            return
        network, chance = reader(network, self.inputs.device), torch.Generator().manual_seed(0)
        one, two = (self.inputs[self._draw(chance)] for _ in range(2))
        even = torch.arange(one.shape[1], device=one.device) % 2 == 0
        mixed = torch.where(even.view(1, -1, *[1] * (one.dim() - 2)), one, two)
        with torch.no_grad():
            own, other, both = (network(like_weights(network, x)) for x in (one, two, mixed))
        apart = torch.where(even[:, None], own, other)
        if not torch.allclose(both, apart, rtol=1e-3, atol=1e-3 * float(apart.abs().max())):
            raise LearnerError(
                f"Anchors were given, and what this {type(network).__name__} reads at a site depends on the inputs of "
                "other sites too. Use a network that reads every site by itself, such as PerSite, or give known "
                "symbols of whole examples: Examples(x, y, known=…)."
            )

    def join(self, x: Any, index: Tensor, order: torch.Generator) -> tuple[Any, Tensor, Tensor | None]:
        """The batch with anchors after the examples, their positions (−1), and the anchors' codes ``[rows, sites]``."""
        if self.anchors is None:
            return x, index, None
        self.anchors.fit(self.task.space, tuple(x.shape[1:]), x.dtype)
        x = x[:] if isinstance(x, Gathered) else x
        chosen = self._draw(order)
        codes = self.codes.gather(1, chosen.T).T
        return (
            torch.cat([x, self.inputs[chosen].to(x.dtype)]),
            torch.cat([index, index.new_full((len(codes),), -1)]),
            codes,
        )

    def split(self, belief: Any, index: Tensor, codes: Tensor | None) -> tuple[Any, Tensor | None]:
        """The examples' belief given what is known, and what labels add to the loss."""
        extra = None
        if self.anchors is not None and codes is not None:
            added, belief = belief.rows(slice(len(index), None)), belief.rows(slice(len(index)))
            extra = -self.anchors.weight * added.log_known(codes).sum() / (codes >= 0).sum().clamp(min=1)
        if self.known is None:
            return belief, extra
        known = self.known[index]
        loss = -belief.log_known(known).mean() / self.task.space.sites
        return belief.given(known), loss if extra is None else loss + extra

    def unknown(self, right: Tensor, index: Tensor | slice) -> Tensor:
        """The share of unknown symbols that are right, as averages over examples: ``[batch, sites]`` to ``[batch]``."""
        if self.known is None:
            return right.mean(1)
        free = self.known < 0  # every example counts by its number of unknown symbols
        return (right * free[index]).sum(1) * len(free) / free.sum().clamp(min=1)

    def _draw(self, chance: torch.Generator) -> Tensor:
        """Anchors ``[rows, sites]`` that suit their sites, where any does."""
        uniform = torch.rand(self.rows, len(self.suit), generator=chance, dtype=torch.float64).to(self.suit.device)
        chosen: Tensor = self.choices.gather(1, (uniform * self.suit).long().T).T
        return chosen
