"""Direct supervision (SUP): the same network and loop, trained on the true symbols. The yardstick."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ..errors import LearnerError
from ..task import Task
from .base import OBJECTIVES, Batch, Objective, Outcome


@OBJECTIVES.register("sup")
@dataclass
class Supervised(Objective):
    """Cross-entropy with the true symbols, which the training set must hold."""

    def begin(self, task: Task, y: Tensor, seed: int) -> None:
        self.sites = task.space.sites

    def loss(self, batch: Batch) -> Outcome:
        if batch.symbols is None:
            raise LearnerError(
                "Supervised training needs true symbols; this training set has none. Give Examples(x, y, symbols)."
            )
        return Outcome(-batch.belief.log_prob(batch.symbols).mean() / self.sites, {})
