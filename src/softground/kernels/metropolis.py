r"""Metropolis's rule on S_y: the paper's kernel (Algorithm 1), its correction, and a walk without a projection.

*The paper's kernel* changes one component of u = Π(z), lets the solver complete it to z′, and accepts with probability
min(1, τ),

.. math:: \tau = \left( P_\theta(z'|x) / P_\theta(z|x) \right)^{1/\gamma} .

**Not exact for Q\***: the solver's choice among |F(u′)| completions is a proposal that τ does not correct for. With a
completion at random its stationary law is ∝ P(z|x)^{1/γ} / |F(Π(z))| when the walk is irreducible; with a solver that
always answers the same, parts of S_y are never reached.

*Uniform* draws v′ uniformly from the whole fibre F(u′). Since q(z → z′) = q(u, u′) / |F(u′)|, the paper's ratio times
|F(u′)| / |F(u)|, the factor it leaves out, gives detailed balance with Q*.

*DirectWalk* makes symmetric moves z → z′ on whole states, with ratio τ: no projection, no inverse. Q* is invariant, but
such moves seldom connect S_y. The paper's crude MCMC for Sudoku switches two digits over the whole board and reaches
the 24 relabellings of its first board, of 288 boards.

References: N. Metropolis et al., J. Chem. Phys. 21 (1953); W. K. Hastings, Biometrika 57 (1970); Z. Li et al., ICLR
2023, Algorithm 1 and Section 5.2 ('MCMC').
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ..constraints.base import Constraint
from ..dice import Dice, any_of
from ..inverses.base import complete
from ..projections.base import Move
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from .base import KERNELS, Info, Kernel, Projected, info, pick


@dataclass(frozen=True)
class Metropolis(Projected):
    """The paper's walk: target Q* in intent, biased by the solver's choice in fact.

    ``completion`` says which completion stands for the solver's answer: ``"any"`` at random (a solver's models vary
    from query to query), or always the ``"first"``.
    """

    move: Move
    completion: Literal["any", "first"] = "any"

    def step(self, dice: Dice, z: Tensor, target: Target[CategoricalBelief]) -> tuple[Tensor, Info]:
        dropped = self.projection.draw(dice, len(z), z.device)
        proposal = self.move.propose(dice, z, dropped.kept(z.shape[1]))
        fibre = self.inverse.fibre(proposal, target.answers, dropped)
        exists = fibre.count > 0
        # One completion is enough here, so an incomplete fibre still serves if it holds any.
        usable = fibre.mask | ~exists[:, None]
        option = any_of(dice, usable) if self.completion == "any" else usable.to(torch.uint8).argmax(-1)
        proposal = complete(proposal, dropped, pick(fibre.values, option))
        log_ratio = target.log_weight(proposal) - target.log_weight(z)
        return decided(dice, z, proposal, log_ratio, exists, ~exists & ~fibre.complete)


@dataclass(frozen=True)
class Uniform(Projected):
    """Target Q*; detailed balance holds."""

    move: Move

    def step(self, dice: Dice, z: Tensor, target: Target[CategoricalBelief]) -> tuple[Tensor, Info]:
        dropped = self.projection.draw(dice, len(z), z.device)
        proposal = self.move.propose(dice, z, dropped.kept(z.shape[1]))
        here, there = self.two_fibres(z, proposal, target.answers, dropped)
        known = here.complete & there.complete
        possible = known & (there.count > 0)
        option = any_of(dice, there.mask | ~possible[:, None])
        proposal = complete(proposal, dropped, pick(there.values, option))
        log_ratio = target.log_weight(proposal) - target.log_weight(z)
        log_ratio = log_ratio + (there.count.to(log_ratio) / here.count.to(log_ratio)).log()
        return decided(dice, z, proposal, log_ratio, possible, ~known)


KERNELS.register("metropolis")(lambda walk, marginals: Metropolis(walk.inverse, walk.drop, walk.move))
KERNELS.register("uniform")(lambda walk, marginals: Uniform(walk.inverse, walk.family, walk.move))


@dataclass(frozen=True)
class DirectWalk(Kernel):
    """Target Q*; detailed balance holds. Reaches only what its moves connect.

    The move is on whole states. With a ``constraint``, proposals outside S_y are rejected; without, there are none.
    """

    move: Move
    constraint: Constraint | None = None

    def step(self, dice: Dice, z: Tensor, target: Target[CategoricalBelief]) -> tuple[Tensor, Info]:
        proposal = self.move.propose(dice, z, torch.ones_like(z, dtype=torch.bool))
        log_ratio = target.log_weight(proposal) - target.log_weight(z)
        possible = torch.ones_like(log_ratio, dtype=torch.bool)
        if self.constraint is not None:
            possible = self.constraint.feasible(proposal, target.answers)
        return decided(dice, z, proposal, log_ratio, possible, torch.zeros_like(possible))


def decided(
    dice: Dice, z: Tensor, proposal: Tensor, log_ratio: Tensor, possible: Tensor, unknown: Tensor
) -> tuple[Tensor, Info]:
    """Accept proposals that are possible with probability min(1, exp(log_ratio)); the other chains stay."""
    accepted = dice.accept(log_ratio.masked_fill(~possible, -torch.inf))
    after = torch.where(accepted[:, None], proposal, z)
    return after, info(z, after, accepted, unknown)
