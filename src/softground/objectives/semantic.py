r"""The semantic loss, exactly: the negative log-probability that the network gives to S_y.

.. math:: \ell(\theta) = -\frac1n \log \sum_{z \in S_y} P_\theta(z|x) .

The law on S_y gives the sum (:meth:`~softground.inverses.Law.log_mass`), so this is no estimate. Its gradient is that
of −(1/n) Σ Q*(z) log P(z|x) with Q* held fixed at γ = 1 (Proposition 2 of the paper): what
:class:`~softground.objectives.SoftenedGrounding` descends with the exact kernel's marginals and a constant γ = 1. It is
divided by the number of sites n, like the other objectives', so that learning rates carry over. The same loss is
DeepProbLog's.

Reference: J. Xu, Z. Zhang, T. Friedman, Y. Liang and G. Van den Broeck, A semantic loss function for deep learning with
symbolic knowledge, ICML 2018.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import InverseError, LearnerError
from ..target import Target
from ..task import Task
from .base import OBJECTIVES, Batch, Objective, Outcome
from .starts import WAITING, first_states, kept, mean_loss


@OBJECTIVES.register("semantic")
@dataclass
class SemanticLoss(Objective):
    """−log P(S_y|x), for a task whose inverse knows the law on S_y."""

    open = True

    def begin(self, task: Task, y: Tensor, seed: int) -> None:
        try:
            task.inverse.law(Target(task.space.uniform(len(y[:1]), y.device), y[:1], 1.0))
        except InverseError as error:
            raise LearnerError(
                f"The semantic loss adds up all of S_y, which cannot be done here: {error} Otherwise sample, with "
                "SoftenedGrounding at γ = 1."
            ) from error
        self.task = task
        self.waiting = first_states(task, y, seed, self.known)[1]

    def state(self) -> dict[str, Tensor]:
        return kept(self.waiting)

    def restore(self, state: dict[str, Tensor]) -> None:
        self.waiting = state.get(WAITING)

    def loss(self, batch: Batch) -> Outcome:
        with batch.stopwatch("sampling"):
            log_mass = self.task.inverse.law(Target(batch.belief, batch.y, 1.0)).log_mass()
            lost = torch.isinf(log_mass).nonzero().flatten()
            if len(lost):
                raise self.task.infeasible(batch.y[lost], [batch.places[row] for row in lost.tolist()])
        return Outcome(mean_loss(log_mass, self.task.space.sites), {"feasible_mass": log_mass.detach().exp()})
