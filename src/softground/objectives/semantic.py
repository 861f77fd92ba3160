r"""The semantic loss: the softened grounding at γ = 1 with Q*'s marginals.

.. math:: \ell(\theta) = -\frac1n \log \sum_{z \in S_y} P_\theta(z|x) .

Its gradient is that of −(1/n) Σ Q*(z) log P(z|x) with Q* held fixed at γ = 1 (Proposition 2 of the paper): what
:class:`~softground.objectives.SoftenedGrounding` descends with the exact kernel, without sampling noise. The loss that
is shown is this cross-entropy, which exceeds the one above by the entropy of Q* over n. DeepProbLog has the same loss.

Reference: J. Xu, Z. Zhang, T. Friedman, Y. Liang and G. Van den Broeck, A semantic loss function for deep learning with
symbolic knowledge, ICML 2018.
"""

from torch import Tensor

from ..errors import InverseError, LearnerError
from ..kernels.exact import Exact
from ..schedules.constant import Constant
from ..target import Target
from ..task import Task
from .base import OBJECTIVES
from .grounding import SoftenedGrounding


@OBJECTIVES.register("semantic")
class SemanticLoss(SoftenedGrounding):
    """−log P(S_y|x), for a task whose inverse knows the law on S_y."""

    def __init__(self) -> None:
        super().__init__(None, Constant(1.0))

    def begin(self, task: Task, y: Tensor, seed: int) -> None:
        try:
            task.inverse.law(Target(task.space.uniform(len(y[:1]), y.device), y[:1], 1.0))
        except InverseError as error:
            raise LearnerError(
                f"The semantic loss adds up all of S_y, which cannot be done here: {error} Otherwise sample, with "
                "SoftenedGrounding at γ = 1."
            ) from error
        self.kernel = Exact(task.inverse)
        super().begin(task, y, seed)
