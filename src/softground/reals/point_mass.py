r"""γ = 0: jump to the nearest feasible point, where Q* has all its mass as γ → 0.

.. math:: z \leftarrow \arg\max_{z \in S_y} P_\theta(z|x) .

For reals this is the zero-degree stage: the loss is then half the squared distance of f(x) to S_y, and an example whose
prediction is feasible adds nothing to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from ..dice import Dice
from ..kernels.base import ChainState, Info, info, start_at
from ..target import Target
from .gaussian import GaussianBelief


@runtime_checkable
class NearestPoint(Protocol):
    """An inverse that can project onto S_y."""

    def nearest(self, mean: Tensor, y: Tensor) -> Tensor:
        """The feasible point next to ``mean[batch, sites]``."""


@dataclass(frozen=True)
class PointMass:
    """The point mass at the most probable feasible z; the chain's state and the dice are not looked at."""

    inverse: NearestPoint

    def init(self, z: Tensor) -> ChainState:
        return start_at(z)

    def step(self, dice: Dice, state: ChainState, target: Target[GaussianBelief]) -> tuple[ChainState, Info]:
        after = self.inverse.nearest(target.weights.mean, target.answers)
        true = torch.ones(len(after), dtype=torch.bool, device=after.device)
        return ChainState(after), info(state.z, after, true, ~true)
