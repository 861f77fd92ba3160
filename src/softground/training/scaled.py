r"""Scaled grounding: the teacher divides the network's probabilities by its own usage of the symbols.

With u(s), the share of sites that the network reads as s, the teacher uses

.. math:: h_i(s) = \log P_\theta(z_i = s|x) - c(t) \log u(s), \qquad
          Q^*(z) \propto \exp \tfrac1\gamma \sum_i h_i(z_i) \quad \text{on } S_y ,

and the network learns from Q* by its own belief. If images are independent given their symbols, Bayes' rule gives
:math:`P(x_i|s) \propto P(s|x_i) / P(s)`. So h is the log-likelihood of the images, u stands for the network's implicit
prior, and readings in S_y are weighted by how well they explain the images. Without scaling, a network that at first
reads one symbol slightly more often than others is reinforced, until symbols merge wherever the rule allows it.

u is the mean over the batch's unknown symbols, of all processes, off the tape. If the batch's number of sites N is
small compared with the number of symbols K, it is a running mean that keeps the share max(0, 1 − N/3K), and no more,
because a lagging mean makes symbols oscillate. c(t) is 1 for half of the stage, then falls linearly to 0 at three
quarters. It changes once per epoch.

Reference: N. Morgan and H. Bourlard, Continuous speech recognition using multilayer perceptrons with hidden Markov
models, ICASSP 1990, for scaled likelihoods.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from ..errors import LearnerError
from ..spaces.categorical import CategoricalBelief
from .step import Batch, Moment, Teacher, Term, TrainingSet, fading

USAGE = "usage"
"""The name of u in the memory, in every row, if batches are small."""
LEAST = 1e-4  # lower bound of u
SITES = 3  # sites per symbol from which on no running mean is needed


@dataclass(frozen=True)
class Scaled(Term):
    """Divide P(z|x) by the network's own usage of the symbols, for the teacher.

    >>> [Scaled().numbers(Moment(begun=share))["scaling"] for share in (0.0, 0.5, 0.625, 0.75)]
    [1.0, 1.0, 0.5, 0.0]
    """

    where: Tensor | None = field(default=None, repr=False, compare=False)  # codes' places among the symbols
    examples: int = field(default=0, repr=False, compare=False)

    def serves(self, teacher: Teacher) -> bool:
        return teacher.sums

    def begin(self, train: TrainingSet) -> Scaled:
        space, device = train.task.space, train.y.device
        if not space.categorical:
            raise LearnerError(f"scaled=True was given for {space!r}, whose components are reals; it needs symbols.")
        return replace(self, where=space.layout(device).symbols, examples=len(train.y))

    def numbers(self, moment: Moment) -> dict[str, float]:
        return {"scaling": fading(moment.begun)}

    def evidence(self, batch: Batch) -> None:
        share = fading(batch.moment.begun)
        if share:
            assert self.where is not None
            batch.evidence = divided(batch.evidence, self.used(batch), share, self.where)

    def used(self, batch: Batch) -> Tensor:
        """u(s) by symbol, ``[K]``."""
        assert self.where is not None
        symbols = len(batch.task.space.symbols)
        total, count = readings(batch.reading, batch.known, self.where, symbols)
        if batch.processes > 1:
            total, count = batch.total(total * batch.counts), batch.total(count * batch.counts)
        mean = total / count.clamp(min=1)
        keep = share_kept(len(batch.index) * batch.task.space.sites * batch.processes, symbols)
        if not keep:
            return mean
        bool(mean.isfinite().all())  # waits for the device, so that no recording replaces the mean
        if USAGE in batch.memory:
            mean = keep * batch.memory[USAGE][0] + (1 - keep) * mean
        batch.memory[USAGE] = mean.expand(self.examples, -1)
        return mean


def readings(reading: CategoricalBelief, known: Tensor | None, where: Tensor, symbols: int) -> tuple[Tensor, Tensor]:
    """How often a network reads each symbol at the unknown sites, ``[symbols]``, and how many such sites there are."""
    found = (reading.scores if reading.every is None else reading.every).softmax(-1)
    count = torch.tensor(float(found[..., 0].numel()), device=found.device)
    if known is not None:
        found, count = found * (known < 0)[..., None], (known < 0).sum()
    places = where[:, : found.shape[2]].flatten()
    return found.new_zeros(symbols).index_add(0, places, found.sum(0).flatten()), count


def share_kept(sites: int, symbols: int) -> float:
    """The share that a running mean of u keeps at a batch of this many sites; 0 if the batch is large enough."""
    return max(0.0, 1 - sites / (SITES * symbols))


def divided(evidence: CategoricalBelief, used: Tensor, share: float, where: Tensor) -> CategoricalBelief:
    """P(z|x) / u^c as weights, with c = ``share``."""
    scale = -share * used.clamp(min=LEAST).log()
    return evidence.changed(lambda scores: scores + scale[where[:, : scores.shape[2]]].to(scores))
