r"""Composite likelihood: the rule's parts one by one, each exactly.

Many rules are conjunctions of parts that touch few sites: :math:`S_y = \bigcap_c S_y^c`, as the sums of a grid's rows
and columns, or Sudoku's 27 groups. The law on all of S_y may be out of reach; that of a part is not. The loss adds up

.. math:: \ell(\theta) = - \frac{1}{m} \sum_c \log P_\theta(z \in S_y^c|x), \qquad m = \sum_c |c| ,

m being the sites of all parts together, so that learning rates carry over. The true z satisfies every part, so the
loss has its minimum there, and nothing has to be sampled: no chains, no solver, no first states. At a temperature γ
each part has its own Q*, as in :class:`~softground.objectives.SoftenedGrounding`, and what is descended is

.. math:: - \frac1m \sum_c \sum_{i \in c} \sum_s Q^c_i(s) \log P_i(s|x), \qquad Q^c(z) \propto P(z|x)^{1/\gamma}
          \text{ on } S_y^c ,

whose gradient at γ = 1 is the one above. It is **weaker than the whole rule**: parts do not talk to each other.
Evaluations count whether a reading keeps the whole rule, and Stage II, which trains on readings that do, may follow.

References: B. G. Lindsay, Composite likelihood methods, Contemp. Math. 80 (1988); C. Varin, N. Reid and D. Firth, An
overview of composite likelihood methods, Statist. Sinica 21 (2011).
"""

import warnings
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ..errors import InfeasibleAnswer, LearnerError
from ..gpu import Recorded
from ..inverses.composite import composite
from ..inverses.joint import together
from ..schedules.base import Schedule
from ..schedules.constant import Constant
from ..target import Target
from ..task import Task
from .base import OBJECTIVES, Batch, Objective, Outcome
from .starts import EMPTY, WAITING, kept, mean_loss

CHECK = 6  # a sixth of the budget's seconds is for finding answers that contradict themselves


@OBJECTIVES.register("parts")
@dataclass
class CompositeLikelihood(Objective):
    """The sum of the parts' −log P(S_y^c|x), for a rule whose parts each have a law; see :class:`~softground.All`."""

    schedule: Schedule = field(default_factory=lambda: Constant(1.0))  # γ per epoch

    def begin(self, task: Task, y: Tensor, seed: int) -> None:
        self.task, self.parts = task, composite(task.constraint, task.inverse)
        if not self.parts.exact or not task.space.categorical:
            raise LearnerError(
                f"The objective 'parts' takes the exact law of every part of a rule; {task.constraint!r} has no parts, "
                "or one that is too large to tabulate. State it by sg.All(…), or use SoftenedGrounding."
            )
        self.recorded = Recorded(self.parts.marginals)
        empty = self._empty(y)
        self.waiting = torch.where(empty, EMPTY, 0) if bool(empty.any()) else None

    def _empty(self, y: Tensor) -> Tensor:
        """Which answers nothing explains: by one of their parts, or because their parts contradict each other."""
        empty = self.parts.empty(self.task.space, y, self.known)
        rest = ~empty
        known = None if self.known is None else self.known[rest]
        seconds = self.task.budget.seconds / CHECK
        empty[rest], undecided = together(self.task.constraint, self.task.inverse, y[rest], known, seconds)
        if bool(undecided.any()) and bool(empty.any()):  # where some answers are wrong, others may be
            warnings.warn(
                f"The parts of {int(empty.sum()):,} answers contradict each other. Whether others do is not known for "
                f"{int(undecided.sum()):,} of {len(y):,} examples, which no solver decided within {seconds:g} s; they "
                "are trained on. Task(…, budget=Budget(seconds=…)) gives it more time.",
                stacklevel=2,
            )
        return empty

    def state(self) -> dict[str, Tensor]:
        return kept(self.waiting)

    def restore(self, state: dict[str, Tensor]) -> None:
        self.waiting = state.get(WAITING)

    def loss(self, batch: Batch) -> Outcome:
        with batch.stopwatch("sampling"), torch.no_grad():
            target = Target.at(batch.belief.detach(), batch.y, self.schedule.gamma(batch.epoch))
            try:
                marginals = self._marginals(target)
            except InfeasibleAnswer as error:  # which knows the batch's rows only
                lost = list(error.examples)
                raise self.task.infeasible(batch.y[lost], [batch.places[row] for row in lost]) from error
        return Outcome(mean_loss(batch.belief.marginal_log_prob(marginals), self.parts.visits), {})

    def static(self, batch: Batch) -> bool:
        return self.parts.static(batch.belief.scores, self.parts.answers(batch.y))  # type: ignore[attr-defined]

    def _marginals(self, target: Target[Any]) -> Tensor:
        scores, answers = target.weights.scores, self.parts.answers(target.answers)
        static = scores.is_cuda and self.parts.static(scores, answers)
        if not static:
            return self.parts.marginals(scores, *answers)
        found: Tensor = self.recorded(scores, *answers)
        return found.clone()  # which the next member of an ensemble would overwrite before the gradient is taken

    def settings(self, epoch: int) -> dict[str, float]:
        return {"gamma": self.schedule.gamma(epoch)}


def parts_objective(task: Task, schedule: Schedule | None = None) -> CompositeLikelihood | None:
    """The objective for a rule that is a conjunction with a law for every part; None for any other."""
    if not task.constraint.parts() or not composite(task.constraint, task.inverse).exact:
        return None
    return CompositeLikelihood() if schedule is None else CompositeLikelihood(schedule)
