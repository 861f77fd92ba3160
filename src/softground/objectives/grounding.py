r"""Softened symbol grounding (Stage I, Algorithm 1 of the paper).

Per batch: T kernel steps of each example's chain at temperature γ, then one gradient step on

.. math:: \hat\ell(\theta) = -\frac{1}{n} \sum_{i=1}^{n} \log P_\theta(z_i|x), \qquad z \approx Q^*,

or, where the kernel knows Q*'s marginals, on its expectation :math:`-\frac1n \sum_i \sum_s Q^*_i(s) \log P_i(s|x)`. The
energy in Q* is the paper's sum over sites; the loss is divided by the number of sites n, as in the authors' code, so
that learning rates carry over between lengths.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..errors import InfeasibleAnswer, LearnerError
from ..kernels.base import Kernel
from ..kernels.composed import Composed
from ..schedules.base import Schedule
from ..target import Target
from ..task import Task
from .base import CHAINS, OBJECTIVES, Batch, Objective, Outcome


@OBJECTIVES.register("grounding")
@dataclass
class SoftenedGrounding(Objective):
    """Stage I: chains follow the network as γ falls, the network follows its chains."""

    kernel: Kernel
    schedule: Schedule  # γ per epoch
    steps: int = 1  # T, kernel steps per gradient step
    chains: Tensor = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise LearnerError(f"steps={self.steps} was given; expected at least one kernel step per gradient step.")

    def begin(self, task: Task, y: Tensor, seed: int) -> None:
        self.walk: Kernel = Composed([self.kernel] * self.steps) if self.steps > 1 else self.kernel
        self.task = task
        self.chains = initial_states(task, y, seed, self.known)

    def loss(self, batch: Batch) -> Outcome:
        with batch.stopwatch("sampling"), torch.no_grad():
            target = Target.at(batch.belief.detach(), batch.y, self.schedule.gamma(batch.epoch))
            try:
                z, info = self.walk.step(batch.dice, self.chains[batch.index], target)
            except InfeasibleAnswer as error:  # which knows the batch's rows only
                lost = list(error.examples)
                raise self.task.infeasible(batch.y[lost], batch.index[lost].tolist()) from error
            self.chains[batch.index] = z
        known = info.marginals
        log_prob = batch.belief.log_prob(z) if known is None else batch.belief.marginal_log_prob(known)
        diagnostics = {"acceptance": info.acceptance, "moved": info.moved, "unknown": info.unknown}
        return Outcome(-log_prob.mean() / self.task.space.sites, diagnostics)

    def settings(self, epoch: int) -> dict[str, float]:
        faults = {f"solver_{name}": count for name, count in self.task.inverse.faults.items() if count}
        return {"gamma": self.schedule.gamma(epoch)} | faults

    def state(self) -> dict[str, Tensor]:
        return {CHAINS: self.chains}

    def restore(self, state: dict[str, Tensor]) -> None:
        self.chains = state[CHAINS]

    def record(self, recorded: Callable[[Kernel], Kernel]) -> None:
        self.walk = recorded(self.walk)


def initial_states(task: Task, y: Tensor, seed: int, known: Tensor | None = None) -> Tensor:
    """A feasible state per example, from the rule and the ``known`` symbols alone; raises with the examples' indices
    where there is none."""
    start = task.inverse.start(y, seed) if known is None else task.inverse.start_given(y, seed, known)
    lost = (~start.found).nonzero().flatten().tolist()
    if not lost:
        return start.z
    reason = "No feasible state was found, though one may exist. Raise the inverse's tries, or use the Z3 inverse."
    proved = bool(start.proved[lost].all())
    if proved and known is not None and bool((known[lost] >= 0).any()):
        raise task.contradicted(y[lost], lost)
    raise task.infeasible(y[lost], lost, "" if proved else reason)
