r"""Wrong answers: down-weight examples whose answer is probably wrong.

With probability 1 − ε an answer comes from the symbols that x shows; it is then y with probability
:math:`M = \sum_{z \in S_y} P(z|x)`. With probability ε it is wrong: it comes from uniformly drawn symbols, independent
of x, and is then y with probability R, the share of all readings that explain y. So

.. math:: P(y|x) = (1 - \varepsilon) M + \varepsilon R, \qquad
          w = \frac{(1 - \varepsilon) M}{(1 - \varepsilon) M + \varepsilon R}, \qquad
          \nabla \log P(y|x) = w\, \nabla \log M :

w is the probability that the answer is correct, and multiplies the example's gradient for every teacher. An untrained
network gives M ≈ R, so all examples begin with the weight 1 − ε, whatever the rule. (If R were the answers' shares of
the training set, weights would begin near 0 for many answers, and nothing would be learnt.) ε is given, or learnt: the
share of examples in the previous epoch whose answer the network's own reading does not explain, from 0.01 to 0.5, and
0.1 in the first epoch. That is EM with hard assignments. EM's own update, the mean of 1 − w, is too small: a network
that is still uncertain attributes wrong answers to its own doubt, and learns them.

M is exact for an exact inverse. For a rule of parts (:mod:`softground.inverses.composite`) it is **approximated**: log
M and log R are sums over the parts, divided by the mean number of parts that touch a site, as if every site counted
once. Other rules are refused.

References: A. P. Dempster, N. M. Laird and D. B. Rubin, J. R. Statist. Soc. B 39 (1977), for EM; G. Celeux and
G. Govaert, Comput. Statist. Data Anal. 14 (1992), for hard assignments.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, Literal

import torch
from torch import Tensor

from ..errors import LearnerError
from ..inverses.composite import composite
from ..target import Target
from ..task import Task
from .step import Batch, Moment, Teacher, Term, TrainingSet

ROWS = 512  # examples for which R is computed at a time
Level = float | Literal["learn"]
FIRST = 0.1  # the initial value of a learnt ε
BOUNDS = 0.01, 0.5  # of a learnt ε


def check_level(level: object) -> Level:
    """A noise level as it was given, if it is one."""
    if level == "learn":
        return "learn"
    if isinstance(level, Real) and 0 <= float(level) < 1:
        return float(level)
    raise LearnerError.of({"noise": level}, "expected the share of wrong answers, from 0 to below 1, or 'learn'.")


@dataclass(frozen=True)
class Noise(Term):
    """Weight examples by the probability that their answer is correct; a share ``level`` of the answers is wrong.

    >>> Noise("learn")
    Noise(level='learn')
    """

    level: Level
    overlap: float = field(default=1.0, repr=False, compare=False)  # parts of the rule that touch a site, on average
    log_reference: Tensor | None = field(default=None, repr=False, compare=False)  # log R of each example

    def __post_init__(self) -> None:
        check_level(self.level)

    def serves(self, teacher: Teacher) -> bool:
        return teacher.weak

    def begin(self, train: TrainingSet) -> Noise:
        task, y = train.task, train.y
        if not task.space.categorical:
            raise LearnerError.of(
                {"noise": self.level}, f", and {task.space!r} has reals; a noise level needs symbols."
            )
        # The whole S_y counts every site once; parts count it once for each part that touches it.
        whole, parts = task.inverse.exact, composite(task.constraint, task.inverse)
        if not (whole or parts.exact):
            raise LearnerError.of(
                {"noise": self.level},
                f", and nothing tells how probable answers are: {task.inverse!r} does not know the law on S_y. Use a "
                "table, a listing or a scan, or give no noise level.",
            )
        touching = torch.ones(task.space.sites) if whole else parts.touching(task.space.sites)
        term = replace(self, overlap=float(touching.sum() / (touching > 0).sum()))
        space, shares = task.space, []
        choices = [space.outputs if space.readings == "all" else size for size in space.sizes]
        each = (torch.tensor(choices).double().log() * touching).to(y.device)
        for rows in torch.split(torch.arange(len(y), device=y.device), ROWS):
            weights, free = space.uniform(len(rows), y.device), each.sum()
            if train.known is not None:
                weights, free = weights.given(train.known[rows]), (each * (train.known[rows] < 0)).sum(1)
            shares.append(term._log_mass(task, Target(weights, y[rows], 1.0, checked=True)) - free / term.overlap)
        return replace(term, log_reference=torch.cat(shares))

    def _log_mass(self, task: Task, target: Target[Any]) -> Tensor:
        """log M, of the whole law or by parts."""
        if task.inverse.exact:
            return task.inverse.law(target).log_mass(quiet=True)
        return composite(task.constraint, task.inverse).log_mass(target) / self.overlap

    def at(self, history: Sequence[Mapping[str, Any]]) -> float:
        """ε for the epoch after these."""
        if self.level != "learn":
            return float(self.level)
        return min(max(1 - history[-1]["feasible"], BOUNDS[0]), BOUNDS[1]) if history else FIRST

    def numbers(self, moment: Moment) -> dict[str, float]:
        return {"noise": self.at(moment.history)}

    def weigh(self, batch: Batch) -> None:
        meant = self.meant(batch.task, batch.informed, batch.answers, batch.index, self.at(batch.moment.history))
        batch.scale(meant)
        batch.figures["meant"] = meant

    def meant(self, task: Task, belief: Any, y: Tensor, index: Tensor, level: float) -> Tensor:
        """w for the examples in the rows ``index``: ``[batch]``."""
        assert self.log_reference is not None
        with torch.no_grad():
            mass, reference = self._log_mass(task, Target(belief, y, 1.0, checked=True)), self.log_reference[index]
            meant = (mass.double() - reference + math.log1p(-level) - math.log(level)).sigmoid()
            return torch.where(torch.isneginf(reference), 0.0, meant)  # an answer without explanation is wrong
