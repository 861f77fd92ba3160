r"""Learning from labels: the true symbols, or the network's own predictions where the rule accepts them.

*Direct supervision* (SUP) is the yardstick: the same network and loop, trained on the true symbols.

*The zero-degree stage* (Stage II) is γ = 0, where Q* is one-hot at the most probable feasible z. Where the network's
own prediction :math:`\hat z = \arg\max_z P_\theta(z|x)` lies in S_y it is that z, and serves as a label; the other
examples are left out of the batch.

Reference: Z. Li et al., ICLR 2023, Section 4 and Appendix B.1.
"""

from dataclasses import dataclass

from torch import Tensor

from ..errors import LearnerError
from ..spaces.base import Belief
from .base import OBJECTIVES, Batch, Objective, Outcome


def label_loss(belief: Belief, z: Tensor, used: Tensor, sites: int) -> Tensor:
    """The mean of −log P(z|x) / sites over the examples that are ``used[batch]`` (bool)."""
    log_prob = belief.log_prob(z)
    weight = used.to(log_prob.dtype)
    return -(log_prob * weight).sum() / weight.sum().clamp(min=1) / sites


@OBJECTIVES.register("sup")
@dataclass
class Supervised(Objective):
    """Cross-entropy with the true symbols, which the training set must hold."""

    weak = False

    def loss(self, batch: Batch) -> Outcome:
        if batch.symbols is None:
            raise LearnerError(
                "Supervised training needs true symbols; this training set has none. Give Examples(x, y, symbols)."
            )
        return Outcome(batch.belief.log_prob(batch.symbols).mean() / -self.task.space.sites, {})

    def static(self, batch: Batch) -> bool:
        return batch.symbols is not None


@OBJECTIVES.register("zero")
@dataclass
class ZeroDegree(Objective):
    """Stage II: learn from one's own predictions where the rule accepts them."""

    def loss(self, batch: Batch) -> Outcome:
        with batch.stopwatch("sampling"):
            prediction = batch.belief.mode()
            feasible = self.task.feasible(prediction, batch.y)
        return Outcome(label_loss(batch.belief, prediction, feasible, self.task.space.sites), {"used": feasible})

    def settings(self, epoch: int) -> dict[str, float]:
        return {"gamma": 0.0}

    def static(self, batch: Batch) -> bool:
        return self.task.inverse.exact and self.task.inverse.cost == "tensor"
