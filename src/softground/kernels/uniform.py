r"""Metropolis–Hastings with a completion drawn uniformly from the whole fibre. Exact for Q*.

Proposal: change one component of u, draw v′ uniformly in F(u′). Since q(z → z′) = q(u, u′) / |F(u′)|,

.. math:: \tau = \left( \frac{P(z'|x)}{P(z|x)} \right)^{1/\gamma} \frac{|F(u')|}{|F(u)|}

gives detailed balance with Q*: the paper's ratio, with the factor it leaves out.

Reference: W. K. Hastings, Biometrika 57 (1970).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..dice import Dice
from ..inverses.base import Inverse, complete
from ..projections.base import Move, Projection
from ..projections.walk import Walk
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from .base import KERNELS, Info, Kernel, info, pick, two_fibres


@dataclass(frozen=True)
class Uniform(Kernel):
    """Target Q*; detailed balance holds."""

    inverse: Inverse
    projection: Projection
    move: Move

    def step(self, dice: Dice, z: Tensor, target: Target[CategoricalBelief]) -> tuple[Tensor, Info]:
        dropped = self.projection.draw(dice, len(z), z.device)
        proposal = self.move.propose(dice, z, dropped.kept(z.shape[1]))
        here, there = two_fibres(self.inverse, z, proposal, target.answers, dropped)
        known = here.complete & there.complete
        possible = known & (there.count > 0)
        usable = there.mask | ~possible[:, None]
        option = dice.categorical(torch.zeros_like(usable, dtype=torch.float32).masked_fill(~usable, -torch.inf))
        proposal = complete(proposal, dropped, pick(there.values, option))
        log_ratio = target.log_weight(proposal) - target.log_weight(z)
        log_ratio = log_ratio + (there.count.to(log_ratio) / here.count.to(log_ratio)).log()
        accepted = dice.accept(log_ratio.masked_fill(~possible, -torch.inf))
        after = torch.where(accepted[:, None], proposal, z)
        return after, info(z, after, accepted, ~known)

    def static(self, target: Target[CategoricalBelief]) -> bool:
        return self.inverse.static


@KERNELS.register("uniform")
def _by_name(walk: Walk, marginals: bool) -> Kernel:
    return Uniform(walk.inverse, walk.family, walk.move)
