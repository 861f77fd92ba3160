r"""Let the network itself propose all of u. Exact for Q*.

Proposal: every kept site afresh from the network, u′ ~ ∏ P(u_i|x)^{1/γ}, independent of the chain's state. The
proposal's density cancels w(u), and with W(u) = Σ_{v ∈ F(u)} P(v|x)^{1/γ} the acceptance ratio is

.. math:: \tau = W(u') / W(u) .

v is then drawn from its conditional distribution, also on rejection. This independence sampler jumps across the space
in one step, so it moves chains that single-site walks leave frozen as γ falls.

Reference: L. Tierney, Markov chains for exploring posterior distributions, Ann. Statist. 22 (1994).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..dice import Dice
from ..projections.base import Walk
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from .base import KERNELS, Info, Kernel, Projected, redraw


@dataclass(frozen=True)
class Guided(Projected):
    """Target Q*; invariance holds (an independence sampler on Ω followed by Gibbs on the dropped sites).

    ``marginals``: whether steps report the dropped sites' conditional distribution, for a loss with less noise.
    """

    marginals: bool = False

    def step(self, dice: Dice, z: Tensor, target: Target[CategoricalBelief]) -> tuple[Tensor, Info]:
        dropped = self.projection.draw(dice, len(z), z.device)
        drawn = dice.categorical(target.weights.scores.flatten(0, 1)).view_as(z)
        proposal = torch.where(dropped.kept(z.shape[1]), drawn, z)
        fibres = self.two_fibres(z, proposal, target.answers, dropped)
        return redraw(dice, target, z, proposal, dropped, fibres, 0.0, self.marginals)


@KERNELS.register("guided")
def _by_name(walk: Walk, marginals: bool) -> Kernel:
    return Guided(walk.inverse, walk.family, marginals)
