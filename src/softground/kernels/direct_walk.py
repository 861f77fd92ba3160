r"""A walk on S_y by moves that never leave it: no projection, no inverse.

Proposal: a symmetric move z → z′ that keeps the rule. Acceptance ratio

.. math:: \tau = \left( P_\theta(z'|x) / P_\theta(z|x) \right)^{1/\gamma} .

This is plain Metropolis, so Q* is invariant, but such moves seldom connect S_y. The paper's crude MCMC for Sudoku
switches two digits over the whole board and reaches 24 of the 288 boards, the relabellings of the first.

Reference: N. Metropolis et al., J. Chem. Phys. 21 (1953); Z. Li et al., ICLR 2023, Section 5.2 ('MCMC').
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..constraints.base import Constraint
from ..dice import Dice
from ..projections.base import Move
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from .base import Info, Kernel, metropolis


@dataclass(frozen=True)
class DirectWalk(Kernel):
    """Target Q*; detailed balance holds. Reaches only what its moves connect.

    The move changes whole states. With a ``constraint``, proposals outside S_y are rejected; without one, the move must
    stay in S_y.
    """

    move: Move
    constraint: Constraint | None = None

    def step(self, dice: Dice, z: Tensor, target: Target[CategoricalBelief]) -> tuple[Tensor, Info]:
        proposal = self.move.propose(dice, z, torch.ones_like(z, dtype=torch.bool))
        log_ratio = target.log_weight(proposal) - target.log_weight(z)
        possible = torch.ones_like(log_ratio, dtype=torch.bool)
        if self.constraint is not None:
            possible = self.constraint.feasible(proposal, target.answers)
        return metropolis(dice, z, proposal, log_ratio, possible, torch.zeros_like(possible))
