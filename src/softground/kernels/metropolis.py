r"""The paper's kernel (Algorithm 1), kept for fidelity.

Change one component of u = Π(z), let the solver complete it to z′, accept with probability min(1, τ),

.. math:: \tau = \left( P_\theta(z'|x) / P_\theta(z|x) \right)^{1/\gamma} .

**Not exact for Q\***: the solver's choice among |F(u′)| completions is a proposal that τ does not correct for.
With a random completion its stationary distribution is ∝ P(z|x)^{1/γ} / |F(Π(z))| if the walk is irreducible; with a
solver that always gives the same one, parts of S_y are never reached. The paper concedes that a bias 'is introduced due
to: 1) the approximate sampling of Metropolis algorithm; 2) the inverse projection implemented by the SMT solver', and
'none of these methods can fully avoid the bias'. The other kernels of this package remove the second bias.

Reference: Z. Li et al., ICLR 2023, Algorithm 1 and Section 4.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ..dice import Dice, any_of
from ..inverses.base import complete
from ..projections.base import Move, Walk
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from .base import KERNELS, Info, Kernel, Projected, metropolis, pick, possible


@dataclass(frozen=True)
class Metropolis(Projected):
    """The paper's walk: it aims at Q*, but the solver's choice biases it.

    ``completion`` stands for the solver's answer: ``"any"`` at random (a solver's models vary from query to query), or
    always the ``"first"``.
    """

    move: Move
    completion: Literal["any", "first"] = "any"

    def step(self, dice: Dice, z: Tensor, target: Target[CategoricalBelief]) -> tuple[Tensor, Info]:
        dropped = self.projection.draw(dice, len(z), z.device)
        proposal = self.move.propose(dice, z, dropped.kept(z.shape[1]))
        fibre = possible(target, dropped, self.inverse.fibre(proposal, target.answers, dropped))
        exists = fibre.count > 0
        # One completion is enough here, so an incomplete fibre still serves if it holds any.
        usable = fibre.mask | ~exists[:, None]
        option = any_of(dice, usable) if self.completion == "any" else usable.to(torch.uint8).argmax(-1)
        proposal = complete(proposal, dropped, pick(fibre.values, option))
        log_ratio = target.log_weight(proposal) - target.log_weight(z)
        return metropolis(dice, z, proposal, log_ratio, exists, ~exists & ~fibre.complete)


@KERNELS.register("metropolis")
def _by_name(walk: Walk, marginals: bool) -> Kernel:
    return Metropolis(walk.inverse, walk.drop, walk.move)
