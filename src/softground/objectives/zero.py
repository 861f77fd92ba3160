r"""The zero-degree stage (Stage II): γ = 0 on the examples whose own prediction is feasible.

At γ = 0, Q* is one-hot at the most probable feasible z. Where the network's own prediction
:math:`\hat z = \arg\max_z P_\theta(z|x)` lies in S_y it is that z, and serves as a pseudo-label; the other examples
are left out of the batch.

Reference: Z. Li et al., ICLR 2023, Section 4 and Appendix B.1.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ..task import Task
from .base import OBJECTIVES, Batch, Objective, Outcome, label_loss


@OBJECTIVES.register("zero")
@dataclass
class ZeroDegree(Objective):
    """Stage II: learn from one's own predictions where the rule accepts them."""

    def begin(self, task: Task, y: Tensor, seed: int) -> None:
        self.task = task

    def loss(self, batch: Batch) -> Outcome:
        with batch.stopwatch("sampling"):
            prediction = batch.belief.mode()
            feasible = self.task.feasible(prediction, batch.y)
        return Outcome(label_loss(batch.belief, prediction, feasible, self.task.space.sites), {"used": feasible})

    def settings(self, epoch: int) -> dict[str, float]:
        return {"gamma": 0.0}
