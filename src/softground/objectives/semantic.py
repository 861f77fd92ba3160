r"""The semantic loss, exactly: the negative log-probability that the network gives to S_y.

.. math:: \ell(\theta) = -\frac1n \log \sum_{z \in S_y} P_\theta(z|x) .

S_y is listed, or added up by a scan's recursion, so this is no estimate. Its gradient is that of
−(1/n) Σ Q*(z) log P(z|x) with Q* held fixed at γ = 1 (Proposition 2 of the paper): what
:class:`~softground.objectives.SoftenedGrounding` descends with the exact kernel's marginals and a constant γ = 1. It is
divided by the number of sites n, like the other objectives', so that learning rates carry over. The same loss is
DeepProbLog's.

Reference: J. Xu, Z. Zhang, T. Friedman, Y. Liang and G. Van den Broeck, A semantic loss function for deep learning with
symbolic knowledge, ICML 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..errors import InfeasibleAnswer, LearnerError
from ..inverses.base import Solutions, SolvingInverse, SummingInverse, log_weights
from ..spaces.categorical import Categorical
from ..task import Task
from .base import OBJECTIVES, Batch, Outcome


@OBJECTIVES.register("semantic")
@dataclass
class SemanticLoss:
    """−log P(S_y|x), for a task whose inverse lists S_y (a table, a listing, Z3) or adds it up unseen (a scan)."""

    def begin(self, task: Task, y: Tensor, seed: int) -> None:
        inverse = task.inverse
        if not isinstance(task.space, Categorical) or not isinstance(inverse, SummingInverse | SolvingInverse):
            raise LearnerError(
                f"The semantic loss adds up all of S_y; {inverse!r} over {task.space!r} cannot. Use an inverse with "
                "solutions(), such as Table or Listing, a Scan, or sample with SoftenedGrounding at γ = 1."
            )
        self.task = task

    def loss(self, batch: Batch) -> Outcome:
        inverse = self.task.inverse
        with batch.stopwatch("sampling"):
            if isinstance(inverse, SummingInverse):
                log_mass = inverse.log_partition(batch.belief, batch.y)
            else:
                log_mass = log_sum_exp(inverse.solutions(batch.y), batch.belief)  # type: ignore[attr-defined]
            empty = torch.isinf(log_mass)
            if bool(empty.any()):
                self._refuse(batch, empty)
        return Outcome(-log_mass.mean() / self.task.space.sites, {"feasible_mass": log_mass.detach().exp()})

    def settings(self, epoch: int) -> dict[str, float]:
        return {}

    def state(self) -> dict[str, Tensor]:
        return {}

    def restore(self, state: dict[str, Tensor]) -> None:
        pass

    def _refuse(self, batch: Batch, empty: Tensor) -> None:
        lost = empty.nonzero().flatten().tolist()
        examples = tuple(batch.index[lost].tolist())
        shown = ", ".join(
            f"{i} (answer {self.task.constraint.answer(batch.y[row])!r})"
            for i, row in list(zip(examples, lost, strict=True))[:5]
        )
        raise InfeasibleAnswer(
            f"No symbols explain the answer of training example(s) {shown}{' …' if len(lost) > 5 else ''}: S_y is "
            "empty. Correct or remove them.",
            examples,
        )


def log_sum_exp(solutions: Solutions, belief: Any) -> Tensor:
    """log Σ P(z|x) over each example's ragged row, differentiable: ``[batch]``; −∞ for a row without solutions."""
    blocks = belief.blocks()
    log_weight = log_weights(blocks, [block.position(solutions.owner, solutions.index) for block in blocks])
    peak = torch.full_like(solutions.count, -torch.inf, dtype=log_weight.dtype)
    peak = peak.scatter_reduce(0, solutions.owner, log_weight.detach(), "amax")
    total = torch.zeros_like(peak).index_add(0, solutions.owner, (log_weight - peak[solutions.owner]).exp())
    return peak + total.log()
