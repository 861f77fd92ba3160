r"""Composite likelihood: the rule's parts one by one, each exactly.

Many rules are conjunctions of parts that touch few sites: :math:`S_y = \bigcap_c S_y^c`, such as the sums of a grid's
rows and columns, or Sudoku's 27 groups. Sums over S_y may be too costly; those over a part are cheap. The loss is

.. math:: \ell(\theta) = - \frac{1}{m} \sum_c \log P_\theta(z \in S_y^c|x), \qquad m = \sum_c |c| ,

where m is the total number of sites of all parts, so that learning rates carry over. The true z satisfies every part,
so the loss has its minimum there. There is no sampling: no chains, no solver, no first states. At a temperature γ
each part has its own Q*, as in :class:`~softground.training.SoftenedGrounding`, and the loss is

.. math:: - \frac1m \sum_c \sum_{i \in c} \sum_s Q^c_i(s) \log P_i(s|x), \qquad Q^c(z) \propto P(z|x)^{1/\gamma}
          \text{ on } S_y^c ,

with the same gradient at γ = 1. It is **weaker than the whole rule**: parts do not exchange information. Evaluations
test readings against the whole rule. Stage II, which trains on readings that satisfy it, may follow.

References: B. G. Lindsay, Composite likelihood methods, Contemp. Math. 80 (1988); C. Varin, N. Reid and D. Firth, An
overview of composite likelihood methods, Statist. Sinica 21 (2011).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from ..errors import LearnerError
from ..inverses.composite import Composite, composite
from ..inverses.joint import SHARE, together
from ..schedules import Constant, Schedule
from ..target import Target
from ..task import Task
from .first_states import EMPTY, WAITING
from .step import OBJECTIVES, Batch, Memory, Moment, Teacher, TrainingSet


@OBJECTIVES.register("parts")
@dataclass(frozen=True)
class CompositeLikelihood(Teacher):
    """The sum of the parts' −log P(S_y^c|x), for a rule whose parts each have a law; see :class:`~softground.All`."""

    sums = True
    schedule: Schedule = field(default_factory=lambda: Constant(1.0))  # γ per epoch
    parts: Composite | None = field(default=None, repr=False, compare=False)  # of the task that is trained

    def begin(self, task: Task) -> CompositeLikelihood:
        parts = composite(task.constraint, task.inverse)
        if not parts.exact or not task.space.categorical:
            raise LearnerError(
                f"The objective 'parts' takes the exact law of every part of a rule; {task.constraint!r} has no parts, "
                "or one that is too large to tabulate. State it by sg.All(…), or use SoftenedGrounding."
            )
        return replace(self, parts=parts)

    def remember(self, train: TrainingSet, seed: int) -> Memory:
        empty = self._empty(train)
        return {WAITING: torch.where(empty, EMPTY, 0)} if bool(empty.any()) else {}

    def _empty(self, train: TrainingSet) -> Tensor:
        """Which answers have an empty S_y: a part is empty, or the parts contradict each other."""
        task, y, seconds = train.task, train.y, train.task.budget.seconds / SHARE
        empty, undecided = together(task.constraint, task.inverse, y, train.known, seconds)
        if bool(undecided.any()) and bool(empty.any()):  # if some answers are wrong, others may be
            warnings.warn(
                f"The parts of {int(empty.sum()):,} answers contradict each other. Whether others do is unknown for "
                f"{int(undecided.sum()):,} of {len(y):,} examples: no solver determined it within {seconds:g} s, so "
                "they are trained on. Task(…, budget=Budget(seconds=…)) gives it more time.",
                stacklevel=2,
            )
        return empty

    def teach(self, batch: Batch) -> Tensor:
        assert self.parts is not None
        target = Target.at(batch.evidence, batch.answers, self.schedule.gamma(batch.moment.epoch))
        marginals = self.parts.marginals(target.weights.scores, *self.parts.answers(batch.answers))
        batch.visits = self.parts.visits
        return marginals

    def numbers(self, moment: Moment) -> dict[str, float]:
        return {"gamma": self.schedule.gamma(moment.epoch)}


def parts_objective(task: Task, schedule: Schedule | None = None) -> CompositeLikelihood | None:
    """The teacher for a rule that is a conjunction with a law for every part; None for any other."""
    if not task.constraint.parts() or not composite(task.constraint, task.inverse).exact:
        return None
    return CompositeLikelihood() if schedule is None else CompositeLikelihood(schedule)
