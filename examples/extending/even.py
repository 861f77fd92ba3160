r"""Even grounding: every feasible symbol vector counts the same, as if γ were ∞ to the end.

The loss is $-\frac{1}{n |S_y|} \sum_{z \in S_y} \log P(z|x)$. It learns only what most of S_y has in common, which is
why the softened grounding lowers γ.

A teacher never changes: ``begin`` returns the one for a task. ``teach`` returns symbols or distributions for a batch.
State per example, such as a chain, goes through ``remember`` into ``batch.memory`` and is saved with a run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from softground import Task
from softground.errors import LearnerError
from softground.target import Target
from softground.training import OBJECTIVES, Batch, Teacher


@OBJECTIVES.register("even")
@dataclass(frozen=True)
class Even(Teacher):
    """The mean of −(1/n) log P(z|x) over S_y, for a task whose inverse is exact.

    >>> import softground as sg, torch
    >>> stage = sg.Stage("I", Even(), epochs=3, optimizer=torch.optim.Adam)
    """

    def begin(self, task: Task) -> Even:
        if not task.inverse.exact:
            raise LearnerError(f"{task.inverse!r} has no exact distribution on S_y. Use a table, a listing or a scan.")
        return self

    def teach(self, batch: Batch) -> Tensor:
        return batch.task.inverse.law(Target.at(batch.evidence, batch.y, math.inf)).marginals()
