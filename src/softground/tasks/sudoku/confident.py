r"""Jumps to boards that the network itself believes in, for boards too many to list. Exact for Q*.

The d cells about which the network is least sure (by their highest P_c(·|x)^{1/γ}) are dropped; the others are proposed
afresh from the network, and all completions of the rest are found by the inverse. This is the guided kernel
(:class:`~softground.kernels.Guided`) with a projection that depends on x but not on the chain's state, so Q* stays
invariant. While the network knows little its proposals break the rule and nothing happens; once it reads most digits,
a chain that stands at a wrong board gets to a right one in a step, where walks of small changes would be stuck.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ...dice import Dice
from ...inverses.base import Inverse
from ...kernels.base import Info, Kernel
from ...kernels.collapsed import Guided
from ...projections.base import Dropped
from ...spaces.categorical import CategoricalBelief
from ...target import Target


@dataclass(frozen=True)
class Chosen:
    """A projection whose dropped sites have been decided, ``[batch, d]``."""

    sites: Tensor

    def draw(self, dice: Dice, batch: int, device: torch.device) -> Dropped:
        return Dropped(self.sites)


@dataclass(frozen=True)
class Confident(Kernel):
    """Target Q*; invariance holds (see the module's text).

    Parameters
    ----------
    inverse
        Finds the completions.
    drop
        d, how many cells are dropped.
    """

    inverse: Inverse
    drop: int

    def step(self, dice: Dice, z: Tensor, target: Target[CategoricalBelief]) -> tuple[Tensor, Info]:
        sure = target.weights.scores.log_softmax(-1).amax(-1)
        dropped = sure.topk(self.drop, largest=False).indices.sort(-1).values
        return Guided(self.inverse, Chosen(dropped)).step(dice, z, target)
