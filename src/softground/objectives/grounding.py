r"""Softened symbol grounding (Stage I, Algorithm 1 of the paper).

Per batch: T kernel steps of each example's chain at temperature γ, then one gradient step on

.. math:: \hat\ell(\theta) = -\frac{1}{n} \sum_{i=1}^{n} \log P_\theta(z_i|x), \qquad z \approx Q^*,

or, where the kernel knows Q*'s marginals, on its expectation :math:`-\frac1n \sum_i \sum_s Q^*_i(s) \log P_i(s|x)`. The
energy in Q* is the paper's sum over sites; the loss is divided by the number of sites n, as in the authors' code, so
that learning rates carry over between lengths.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from ..beside import beside, caught_up
from ..errors import InfeasibleAnswer, LearnerError
from ..kernels.base import Kernel
from ..kernels.composed import Composed, default_kernel
from ..kernels.exact import Exact
from ..schedules.base import Schedule
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from ..task import Task
from .base import CHAINS, OBJECTIVES, Batch, Objective, Outcome
from .starts import WAITING, WAITS, completed_readings, first_states, has_state, kept, mean_loss


@OBJECTIVES.register("grounding")
@dataclass
class SoftenedGrounding(Objective):
    """Stage I: chains follow the network as γ falls, the network follows its chains.

    Without a kernel, a learner chooses the one that fits the rule and the training answers; with ``steps=0``, T.
    """

    kernel: Kernel | None
    schedule: Schedule  # γ per epoch
    steps: int = 1  # T, kernel steps per gradient step
    chains: Tensor = field(init=False, repr=False)
    waiting: Tensor | None = field(init=False, repr=False)  # see WAITING; None where every example had a first state

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise LearnerError(
                f"steps={self.steps} was given; expected one kernel step per gradient step or more, or 0 for as many "
                "as move the chains."
            )

    @property
    def open(self) -> bool:  # type: ignore[override]
        return self.kernel is None or not self.steps

    def begin(self, task: Task, y: Tensor, seed: int) -> None:
        self.kernel = kernel = self.kernel or default_kernel(task.inverse, task.space)
        self.walk: Kernel = Composed([kernel] * self.steps) if self.steps > 1 else kernel
        self.task = task
        self.chains, self.waiting = first_states(task, y, seed, self.known)

    def loss(self, batch: Batch) -> Outcome:
        if self.waiting is not None:
            batch = self._started(batch, self.waiting)
        with batch.stopwatch("sampling"), torch.no_grad():
            target = Target.at(batch.belief.detach(), batch.y, self.schedule.gamma(batch.epoch))
            caught_up()  # with the draws of another member
            try:
                z, info = self.walk.step(batch.dice, self.chains[batch.index], target)
            except InfeasibleAnswer as error:  # which knows the batch's rows only
                lost = list(error.examples)
                raise self.task.infeasible(batch.y[lost], [batch.places[row] for row in lost]) from error
            with beside(z):
                self.chains[batch.index] = z
        known = info.marginals
        log_prob = batch.belief.log_prob(z) if known is None else batch.belief.marginal_log_prob(known)
        diagnostics = {"acceptance": info.acceptance, "moved": info.moved, "unknown": info.unknown}
        return Outcome(mean_loss(log_prob, self.task.space.sites), diagnostics)

    def static(self, batch: Batch) -> bool:
        target = Target.at(batch.belief.detach(), batch.y, self.schedule.gamma(batch.epoch))
        return self.waiting is None and self.walk.static(target)

    def _started(self, batch: Batch, waiting: Tensor) -> Batch:
        """The examples of a batch that have a state, once the network was asked for those that wait for one."""
        index = batch.index
        rows = (waiting[index] == WAITS).nonzero().flatten()
        if len(rows) and self.task.space.categorical:
            with batch.stopwatch("sampling"), torch.no_grad():
                belief: CategoricalBelief = batch.belief.detach().rows(rows)  # type: ignore[assignment]
                z, found = completed_readings(self.task, belief, batch.y[rows], batch.dice)
            self.chains[index[rows[found]]] = z[found]
            waiting[index[rows[found]]] = 0
        return has_state(batch, waiting)

    def settings(self, epoch: int) -> dict[str, float]:
        faults = {f"solver_{name}": count for name, count in self.task.inverse.faults.items() if count}
        return {"gamma": self.schedule.gamma(epoch)} | faults

    def state(self) -> dict[str, Tensor]:
        return {CHAINS: self.chains} | kept(self.waiting)

    def restore(self, state: dict[str, Tensor]) -> None:
        self.chains, self.waiting = state[CHAINS], state.get(WAITING)

    def record(self, recorded: Callable[[Kernel], Kernel]) -> None:
        # Draws are read beside, where marginals take their place in the loss.
        walk = replace(self.walk, late=True) if isinstance(self.walk, Exact) else self.walk
        self.walk = recorded(walk)
