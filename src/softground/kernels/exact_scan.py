r"""Independent draws from Q* and its exact marginals for a rule that is a scan. No chain, and S_y is never listed.

With weights w(z) = P(z|x)^{1/γ}, the recursion of :mod:`softground.constraints.scan` gives

.. math:: \log Z = \log \sum_{z \in S_y} w(z), \qquad
          Q^*_i(s) = \frac{\partial \log Z}{\partial \log w_i(s)},

so that the marginals are one backward pass through the recursion, and draws follow the same messages (forward
filtering, backward sampling). At γ = 1 the gradient of the loss is that of the semantic loss, −log Z.

Reference: L. R. Rabiner, A tutorial on hidden Markov models, Proc. IEEE 77 (1989).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..constraints.scan import Scan
from ..dice import Dice
from ..errors import InfeasibleAnswer, LearnerError
from ..inverses.scanned import Scanned
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from .base import ChainState, Info, Kernel, info, start_at
from .default import default_kernel


@dataclass(frozen=True)
class ExactScan:
    """Target Q*; each step is an independent draw from it, whatever the chain's state.

    Parameters
    ----------
    scan
        The rule.
    marginals
        Whether steps report Q*'s marginals (the default: they remove the sampling noise).
    draws
        Whether steps draw at all. The loss needs none where it has the marginals; without draws the chains stay at
        the states they began with.
    """

    scan: Scan
    marginals: bool = True
    draws: bool = True

    def __post_init__(self) -> None:
        if not (self.marginals or self.draws):
            raise LearnerError("ExactScan was told to give neither marginals nor draws; it must give one of them.")

    def init(self, z: Tensor) -> ChainState:
        return start_at(z)

    def step(self, dice: Dice, state: ChainState, target: Target[CategoricalBelief]) -> tuple[ChainState, Info]:
        true = torch.ones(len(target), dtype=torch.bool, device=target.answers.device)
        marginals = scan_marginals(self.scan, target.weights, target.answers) if self.marginals else None
        after = self.scan.sample(target.weights, target.answers, dice) if self.draws else state.z
        return ChainState(after), info(state.z, after, true, ~true, marginals)

    def static(self, target: Target[CategoricalBelief]) -> bool:
        """Whether a step never asks for a value in the midst of its work: where every answer is known to have a z."""
        return self.scan.solvable


def scan_marginals(scan: Scan, weights: CategoricalBelief, y: Tensor) -> Tensor:
    """Q*'s marginals ``[batch, sites, K]``: the gradient of the log-partition."""
    with torch.enable_grad():
        scores = weights.scores.detach().requires_grad_()
        total = scan.log_partition(CategoricalBelief(weights.space, scores), y)
        (marginals,) = torch.autograd.grad(total.sum(), scores)
    empty = torch.isinf(total.detach())
    if not scan.solvable and bool(empty.any()):
        rows = tuple(empty.nonzero().flatten().tolist())
        raise InfeasibleAnswer(f"S_y is empty for row(s) {list(rows)} of this batch: correct their answers.", rows)
    return marginals


@default_kernel.register
def _(inverse: Scanned, space: object) -> Kernel:
    return ExactScan(inverse.scan)
