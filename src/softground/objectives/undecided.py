r"""Stay undecided where the answer does not decide: the conditional entropy of Q*.

.. math:: \ell(\theta) = -\frac{\lambda}{n}\, \frac1B \sum_b H[P_\theta(z|x_b, y_b)]

Where several z explain y equally well, the semantic loss is the same for a network that is certain of one of them and
for one that spreads over all; which it becomes is chance. This term makes it the latter, so that what it is certain of
is worth something: the network is calibrated, not right. The entropy is exact wherever the law on S_y is
(:meth:`~softground.inverses.Law.entropy`). A product cannot spread over readings that do not go together; a mixture can
(:mod:`softground.spaces.mixture`).

Reference: E. van Krieken et al., Neurosymbolic diffusion models, NeurIPS 2025.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from torch import Tensor

from ..errors import LearnerError
from ..inverses.mixture import law_of
from ..target import Target
from ..task import Task
from .base import Batch, Outcome
from .term import Term
from .usage import check_weight


@dataclass
class Undecided(Term):
    """P(z|x, y) keeps its entropy; ``weight`` is λ. For a task whose inverse knows the law on S_y.

    >>> Undecided(0.5)
    Undecided(weight=0.5)
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        check_weight("entropy", self.weight)

    def begin(self, task: Task, known: Tensor | None, anchors: Sequence[Hashable] | None) -> None:
        if not task.inverse.exact or not task.space.categorical:
            raise LearnerError(
                f"The entropy of P(z|x, y) is a sum over all of S_y, which {task.inverse!r} does not know. Use a "
                "table, a listing or a scan, or leave the entropy's weight at 0."
            )

    def loss(self, task: Task, batch: Batch, share: float) -> Outcome:
        with batch.stopwatch("sampling"):
            entropy = law_of(task.inverse, Target(batch.belief, batch.y, 1.0)).entropy() / task.space.sites
        return Outcome(-self.weight * entropy.mean(), {"undecided": entropy.detach()})
