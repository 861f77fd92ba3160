"""The point mass at the most probable feasible z: the limit of Q* as γ → 0."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..dice import Dice
from ..errors import LearnerError
from ..inverses.base import Inverse, most_probable
from ..kernels.base import Info, Kernel, redrawn
from ..target import Target
from .gaussian import GaussianBelief


@dataclass(frozen=True)
class PointMass(Kernel):
    """The point mass at the most probable feasible z, for any γ, chain state and dice.

    It is the limit of kernels of Q* as γ → 0. For reals this is the zero-degree stage: the loss is half the squared
    distance of f(x) to S_y, and an example with a feasible prediction adds nothing.
    """

    independent = True
    inverse: Inverse

    def step(self, dice: Dice, z: Tensor, target: Target[GaussianBelief]) -> tuple[Tensor, Info]:
        after = most_probable(self.inverse, target)
        if after is None:
            raise LearnerError(f"{self.inverse!r} cannot find the most probable feasible point; use Intervals.")
        if unchecked(after):
            after = torch.where(self.inverse.feasible(after, target.answers)[:, None], after, z)
        return after, redrawn(z, after, None)


def unchecked(point: Tensor) -> bool:
    """Whether the search may have been recorded on a GPU: then it could not see whether its point is feasible."""
    return point.is_cuda
