r"""Wrong answers: how probable it is that the answer of an example is meant.

With probability 1 − ε an answer comes from the symbols that x shows, and then it is y with probability
:math:`M = \sum_{z \in S_y} P(z|x)`. With probability ε it is wrong: the answer of symbols that have nothing to do with
x, drawn uniformly, and then it is y with probability R, the share of all readings that explain y. So

.. math:: P(y|x) = (1 - \varepsilon) M + \varepsilon R, \qquad
          w = \frac{(1 - \varepsilon) M}{(1 - \varepsilon) M + \varepsilon R}, \qquad
          \nabla \log P(y|x) = w\, \nabla \log M :

w is the probability that the answer is meant, and what the example's gradient is multiplied by, whatever the objective.
An untrained network gives M ≈ R, so all examples begin with the weight 1 − ε, whatever the rule. (With the shares of
the answers in the training set as R they would begin near 0 where answers are many, and nothing would be learnt.) ε is
given, or learnt: the share of examples in the epoch before whose answer the network's own reading does not explain,
from 0.01 to 0.5, and 0.1 in the first epoch. That is EM with hard assignments. The mean of 1 − w, EM's own update,
falls short: a network that is not yet sure takes wrong answers for its own doubts, and goes on learning them.

M is exact where the law on S_y is known. Elsewhere it is **approximated**. For a rule of parts
(:mod:`softground.inverses.composite`), log M and log R are sums over the parts, divided by how many of them touch a
site on average: as if every site spoke once. For other rules M is :math:`P(z|x) / P(\hat z|x)`, with z where the
example's chain stands and ẑ what the network reads: 1 where it reads z, and near 0 once it is sure of something else. R
is then the share of the training examples (where several processes train, of each one's own) that have the answer y, at
most 0.1.

References: A. P. Dempster, N. M. Laird and D. B. Rubin, J. R. Statist. Soc. B 39 (1977), for EM; G. Celeux and
G. Govaert, Comput. Statist. Data Anal. 14 (1992), for hard assignments.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from ..constraints.answers import in_words
from ..errors import LearnerError
from ..inverses.composite import composite
from ..objectives.base import CHAINS, Objective
from ..objectives.starts import EMPTY, WAITING, WAITS
from ..target import Target
from ..task import Task
from .device import everyone
from .evaluation import beliefs
from .labels import ROWS

if TYPE_CHECKING:
    from .learner import Learner
    from .training import Training

Level = float | Literal["learn"]
FIRST = 0.1  # where a learnt ε begins
BOUNDS = 0.01, 0.5  # of a learnt ε
COMMON = 0.1  # R at most, where the law is not known: an answer that all examples have would say nothing
LIKELY = 0.5  # an answer less probably meant than this is suspect


def check_level(level: Any) -> Level:
    """A noise level as it was given, if it is one."""
    if level == "learn":
        return "learn"
    if isinstance(level, Real) and 0 <= float(level) < 1:
        return float(level)
    raise LearnerError(
        f"noise={level!r} was given; expected the share of wrong answers, from 0 to below 1, or 'learn'."
    )


class Noise:
    """The probability that answers ``y`` are meant, where a share ``level`` of them is wrong."""

    def __init__(self, level: Level, task: Task, y: Tensor, known: Tensor | None) -> None:
        space = task.space
        if not space.categorical:
            raise LearnerError(f"noise={level} was given, and {space!r} has reals; a noise level needs symbols.")
        self.given, self.task = level, task
        # A whole law counts every site once, laws of parts as often as parts touch it.
        whole, parts = task.inverse.exact, composite(task.constraint, task.inverse)
        touching = torch.ones(space.sites) if whole else parts.touching(space.sites)
        self.known = whole or parts.exact  # whether M is, if only part by part
        if self.known:
            self.overlap = float(touching.sum() / (touching > 0).sum())
            choices = [space.outputs if space.readings == "all" else size for size in space.sizes]
            each = (torch.tensor(choices).double().log() * touching).to(y.device)
            shares = []
            for rows in torch.split(torch.arange(len(y), device=y.device), ROWS):
                weights, free = space.uniform(len(rows), y.device), each.sum()
                if known is not None:
                    weights, free = weights.given(known[rows]), (each * (known[rows] < 0)).sum(1)
                shares.append(self._log_mass(Target(weights, y[rows], 1.0)) - free / self.overlap)
            self.log_reference = torch.cat(shares)
        else:
            _, place, count = y.unique(dim=0, return_inverse=True, return_counts=True)  # type: ignore[no-untyped-call]
            self.log_reference = (count[place].double() / len(y)).clamp(max=COMMON).log()

    def _log_mass(self, target: Target[Any]) -> Tensor:
        """log M, of the whole law or by parts."""
        if self.task.inverse.exact:
            return self.task.inverse.law(target).log_mass()
        return composite(self.task.constraint, self.task.inverse).log_mass(target) / self.overlap

    def level(self, history: Sequence[Mapping[str, Any]]) -> float:
        """ε for the epoch after these."""
        if self.given != "learn":
            return float(self.given)
        return min(max(1 - history[-1]["feasible"], BOUNDS[0]), BOUNDS[1]) if history else FIRST

    def check(self, objective: Objective) -> None:
        """Refuse an objective whose groundings would have to stand in for the law, where it has none."""
        if not self.known and CHAINS not in objective.state():
            raise LearnerError(
                f"noise={self.given} was given, and nothing tells how probable answers are: {self.task.inverse!r} does "
                "not know the law on S_y, and this objective has no chains. Use a table, a listing or a scan, or "
                "SoftenedGrounding."
            )

    def weigh(
        self, belief: Any, y: Tensor, index: Tensor, level: float, objective: Objective
    ) -> tuple[Any, dict[str, Tensor]]:
        """A batch's belief whose gradient counts by w, and w to be averaged over the epoch."""
        chains = objective.state().get(CHAINS)
        meant = self.meant(belief, y, index, level, None if chains is None else chains[index])
        counted = meant
        if (waiting := objective.state().get(WAITING)) is not None and not self.known:
            counted = meant[waiting[index] == 0]  # of the others nothing is known yet
        return belief.weighted(meant), {"meant": counted}

    def meant(self, belief: Any, y: Tensor, index: Tensor, level: float, z: Tensor | None) -> Tensor:
        """w for the examples at positions ``index``, whose chains stand at ``z`` where there are any: ``[batch]``."""
        with torch.no_grad():
            belief = belief.detach()
            if self.known:
                mass = self._log_mass(Target(belief, y, 1.0))
            else:
                assert z is not None
                mass = belief.log_prob(z) - belief.log_prob(belief.mode())
            reference = self.log_reference[index]
            meant = (mass.double() - reference + math.log1p(-level) - math.log(level)).sigmoid()
            return torch.where(torch.isneginf(reference), 0.0, meant)  # what nothing explains cannot be meant


@dataclass(frozen=True)
class Suspect:
    """An example whose answer is probably wrong."""

    example: int  # its position in the training set
    answer: str
    reading: str  # what the network reads
    gives: str  # the answer that this has, for a rule that computes answers
    meant: float  # the probability that the answer is meant


def suspects(learner: Learner) -> list[Suspect]:
    """The training examples whose answer is less probably meant than not, the least probable first."""
    own = [one for part in learner.loop.parts for one in _suspects(learner, part)]
    found = [one for each in everyone(learner.fabric, own) for one in each]
    return sorted(found, key=lambda one: (one.meant, one.example))


def _suspects(learner: Learner, part: Training) -> list[Suspect]:
    task, noise, train, found = part.task, part.noise, part.data, []
    assert noise is not None
    history = learner.loop.progress.history
    begun, level = {record["stage"] for record in history}, noise.level(history)  # an observer may have ended the run
    states = [stage.objective.state() for stage in reversed(part.stages) if stage.name in begun]
    chains, waiting = (next((s[name] for s in states if name in s), None) for name in (CHAINS, WAITING))
    for index, belief in beliefs(task.space, learner.network, train, train.known):
        z = belief.mode()
        meant = noise.meant(belief, part.y[index], index, level, None if chains is None else chains[index])
        if waiting is not None and not noise.known:  # then there is no chain to judge by
            meant = torch.where(waiting[index] == WAITS, 1.0, torch.where(waiting[index] == EMPTY, 0.0, meant))
        doubtful = (meant < LIKELY).nonzero().flatten()
        answers = task.computed(z[doubtful]) or [None] * len(doubtful)
        for row, reading, gives in zip(doubtful.tolist(), task.space.decode(z[doubtful]), answers, strict=True):
            answer = in_words(train.answers[int(index[row])])
            words = (answer, " ".join(map(str, reading)), "" if gives is None else str(gives))
            found.append(Suspect(train.place(int(index[row])), *words, float(meant[row])))
    return found


def written(found: Sequence[Suspect]) -> bytes:
    """Suspects as CSV."""
    text = io.StringIO()
    table = csv.DictWriter(text, [f.name for f in fields(Suspect)])
    table.writeheader()
    table.writerows(asdict(one) for one in found)
    return text.getvalue().encode()
