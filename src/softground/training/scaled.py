r"""Scaled grounding: the network's probabilities are divided by its own usage of the symbols before the rule looks.

With u(s), the share of sites that the network reads as s, the teacher goes by

.. math:: h_i(s) = \log P_\theta(z_i = s|x) - c(t) \log u(s), \qquad
          Q^*(z) \propto \exp \tfrac1\gamma \sum_i h_i(z_i) \quad \text{on } S_y ,

and the network learns from Q* by its own belief. If images are independent given their symbols, Bayes' rule gives
:math:`P(x_i|s) \propto P(s|x_i) / P(s)`: so h is the log-likelihood of the images, u stands for the prior that the
network has made of its own habits, and what weighs the readings in S_y is how well the symbols explain the images.
Without it, a network that at first reads one symbol a little more often than others is taught to do so more and more,
until symbols are merged wherever the rule allows it.

u is the mean over the batch's unknown symbols, of all processes, off the tape. Where a batch has few sites N beside the
number of symbols K, it is a running mean that keeps the share max(0, 1 − N/3K); a mean that lags lets symbols swing,
and so it is kept no longer than needed. c(t) is 1 for half of the stage, then falls along a line to 0 at three
quarters; the last quarter is plain. It changes once per epoch.

Reference: N. Morgan and H. Bourlard, Continuous speech recognition using multilayer perceptrons with hidden Markov
models, ICASSP 1990, for scaled likelihoods.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from ..errors import LearnerError
from .step import Batch, Moment, Teacher, Term, TrainingSet
from .usage import columns, fading

USAGE = "usage"
"""The name under which u is remembered, in every row, where batches are small."""
LEAST = 1e-4  # a symbol that is read less often counts as this often
SITES = 3  # for each symbol, from which on a batch tells enough


@dataclass(frozen=True)
class Scaled(Term):
    """The teacher goes by P(z|x) over the network's own usage of the symbols.

    >>> [Scaled().at(share) for share in (0.0, 0.5, 0.625, 0.75)]
    [1.0, 1.0, 0.5, 0.0]
    """

    on: bool = True
    where: Tensor | None = field(default=None, repr=False, compare=False)  # codes' places among the symbols
    examples: int = field(default=0, repr=False, compare=False)

    def serves(self, teacher: Teacher) -> bool:
        return self.on and teacher.sums

    def begin(self, train: TrainingSet) -> Scaled:
        space, device = train.task.space, train.y.device
        if not space.categorical:
            raise LearnerError(f"scaled=True was given for {space!r}, whose components are reals; it needs symbols.")
        return replace(self, where=columns(space).to(device), examples=len(train.y))

    def at(self, share: float) -> float:
        """c(t)."""
        return fading(share)

    def numbers(self, moment: Moment) -> dict[str, float]:
        return {"scaling": self.at(moment.begun)}

    def evidence(self, batch: Batch) -> None:
        share = self.at(batch.moment.begun)
        if share:
            scale = -share * self.used(batch).clamp(min=LEAST).log()
            batch.evidence = batch.evidence.changed(lambda scores: scores + scale[self._columns(scores)].to(scores))

    def used(self, batch: Batch) -> Tensor:
        """u(s) by symbol, ``[K]``."""
        reading = batch.reading
        found = (reading.scores if reading.every is None else reading.every).softmax(-1)
        count = torch.tensor(float(found[..., 0].numel()), device=found.device)
        if batch.known is not None:
            found, count = found * (batch.known < 0)[..., None], (batch.known < 0).sum()
        symbols = len(batch.task.space.symbols)
        total = found.new_zeros(symbols).index_add(0, self._columns(found).flatten(), found.sum(0).flatten())
        mean = batch.total(total * batch.counts) / batch.total(count * batch.counts).clamp(min=1)
        keep = max(0.0, 1 - found[..., 0].numel() * batch.processes / (SITES * symbols))
        if not keep:
            return mean
        bool(mean.isfinite().all())  # asks the device, since a recording would not remember the mean
        if USAGE in batch.memory:
            mean = keep * batch.memory[USAGE][0] + (1 - keep) * mean
        batch.memory[USAGE] = mean.expand(self.examples, -1)
        return mean

    def _columns(self, scores: Tensor) -> Tensor:
        """The place among the symbols of every code that there are scores of, ``[sites, codes]``."""
        assert self.where is not None
        return self.where[:, : scores.shape[2]]
