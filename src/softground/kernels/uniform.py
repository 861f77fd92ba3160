r"""Metropolis–Hastings with a completion drawn uniformly from the whole fibre. Exact for Q*.

Proposal: change one component of u, draw v′ uniformly in F(u′). Since q(z → z′) = q(u, u′) / |F(u′)|,

.. math:: \tau = \left( \frac{P(z'|x)}{P(z|x)} \right)^{1/\gamma} \frac{|F(u')|}{|F(u)|}

gives detailed balance with Q*: the paper's ratio, with the factor it leaves out.

Reference: W. K. Hastings, Biometrika 57 (1970).
"""

from dataclasses import dataclass

from torch import Tensor

from ..dice import Dice, any_of
from ..inverses.base import complete
from ..projections.base import Move, Walk
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from .base import KERNELS, Info, Kernel, Projected, metropolis, pick, possible


@dataclass(frozen=True)
class Uniform(Projected):
    """Target Q*; detailed balance holds."""

    move: Move

    def step(self, dice: Dice, z: Tensor, target: Target[CategoricalBelief]) -> tuple[Tensor, Info]:
        dropped = self.projection.draw(dice, len(z), z.device)
        proposal = self.move.propose(dice, z, dropped.kept(z.shape[1]))
        fibres = self.two_fibres(z, proposal, target.answers, dropped)
        here, there = (possible(target, dropped, fibre) for fibre in fibres)
        known = here.complete & there.complete
        usable = known & (there.count > 0)
        option = any_of(dice, there.mask | ~usable[:, None])
        proposal = complete(proposal, dropped, pick(there.values, option))
        log_ratio = target.log_weight(proposal) - target.log_weight(z)
        log_ratio = log_ratio + (there.count.to(log_ratio) / here.count.to(log_ratio)).log()
        return metropolis(dice, z, proposal, log_ratio, usable, ~known)


@KERNELS.register("uniform")
def _by_name(walk: Walk, marginals: bool) -> Kernel:
    return Uniform(walk.inverse, walk.family, walk.move)
