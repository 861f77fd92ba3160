r"""γ → 0: the point mass at the nearest feasible point.

.. math:: z \leftarrow \arg\max_{z \in S_y} P_\theta(z|x) .

Not a kernel of Q* at a positive temperature but the limit of Q* as γ → 0, whatever γ the target has. For reals this is
the zero-degree stage: the loss is then half the squared distance of f(x) to S_y, and an example whose prediction is
feasible adds nothing to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ..dice import Dice
from ..errors import LearnerError
from ..inverses.base import Inverse
from ..kernels.base import Info, Kernel, redrawn
from ..target import Target
from .gaussian import GaussianBelief


@dataclass(frozen=True)
class PointMass(Kernel):
    """The point mass at the most probable feasible z; neither the chain's state nor the dice matter."""

    independent = True
    inverse: Inverse

    def step(self, dice: Dice, z: Tensor, target: Target[GaussianBelief]) -> tuple[Tensor, Info]:
        after = self.inverse.most_probable(target)
        if after is None:
            raise LearnerError(f"{self.inverse!r} cannot find the most probable feasible point; use Intervals.")
        return after, redrawn(z, after, None)
