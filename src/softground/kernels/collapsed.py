r"""Walk on u alone, with the dropped sites summed out. Exact for Q*.

With w(z) = P(z|x)^{1/γ} = w(u) w(v), the marginal of Q* on Ω is

.. math:: Q^*(u) \propto w(u) \, W(u), \qquad W(u) = \sum_{v \in F(u)} w(v) .

Proposal: change one component of u (symmetric). Acceptance ratio w(u′)W(u′) / w(u)W(u): Metropolis on Ω. Then v is
drawn from its conditional distribution w(v)/W(u), **also when the move was rejected** (a Gibbs step), so a chain keeps
moving while its fibre has more than one completion.

Reference: J. S. Liu, The collapsed Gibbs sampler, JASA 89 (1994).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..dice import Dice
from ..projections.base import Move, Walk
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from .base import KERNELS, Info, Kernel, Projected, redraw


@dataclass(frozen=True)
class Collapsed(Projected):
    """Target Q*; invariance holds (it is Metropolis on Ω followed by Gibbs on the dropped sites).

    ``marginals``: whether steps report the dropped sites' conditional distribution, for a loss with less noise.
    """

    move: Move
    marginals: bool = False

    def step(self, dice: Dice, z: Tensor, target: Target[CategoricalBelief]) -> tuple[Tensor, Info]:
        dropped = self.projection.draw(dice, len(z), z.device)
        kept = dropped.kept(z.shape[1])
        proposal = self.move.propose(dice, z, kept)
        fibres = self.two_fibres(z, proposal, target.answers, dropped)
        difference = target.weights.site_scores(proposal) - target.weights.site_scores(z)
        prior = torch.where(kept, difference, 0).sum(-1)
        return redraw(dice, target, z, proposal, dropped, fibres, prior, self.marginals)


@KERNELS.register("collapsed")
def _by_name(walk: Walk, marginals: bool) -> Kernel:
    return Collapsed(walk.inverse, walk.family, walk.move, marginals)
