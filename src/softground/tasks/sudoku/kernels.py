r"""Two kernels for boards of any size. Both are exact for Q*.

**Kempe** redraws two digits at a time and needs no inverse. Take two digits a and b. The cells that show either, joined
where they share a row, column or box, fall into connected components (*Kempe chains*). Every group holds one a and one
b, in one component, so switching a and b in any set of components gives a valid board again, and **all** valid boards
that agree with this one outside those cells arise so. Given the other cells, the components are independent under Q*,
and each is redrawn from its own law:

.. math:: \Pr[\text{switch } C] = \sigma\Big( \sum_{c \in C} \tfrac1\gamma
          \big( \log P_c(\bar z_c|x) - \log P_c(z_c|x) \big) \Big),

with z̄ the other digit of the two, and σ the logistic function. Which cells are redrawn depends on the state, but only
through what the step leaves as it is: a block Gibbs step, which leaves Q* invariant. The whole-board switch of the
crude MCMC is the special case in which all components switch. A row holds one a and one b, so components are unions of
rows: rows r and s are joined where the a of r and the b of s share a column or a box.

**Confident** jumps to boards that the network itself believes in. The d cells about which the network is least sure (by
their highest P_c(·|x)^{1/γ}) are dropped; the others are proposed afresh from the network, and the inverse finds all
completions. This is the guided kernel with a projection that depends on x but not on the chain's state, so Q* stays
invariant. While the network knows little, its proposals break the rule and nothing happens. Once it reads most digits,
a chain at a wrong board reaches a right one in a single step, where walks of small changes would be stuck.

Reference: A. B. Kempe, Amer. J. Math. 2 (1879), for the chains; S. and D. Geman, IEEE PAMI 6 (1984), for the sampler.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ...constraints.scan.messages import LOG_ZERO
from ...dice import Dice
from ...inverses.base import Inverse
from ...kernels import Guided
from ...kernels.base import Info, Kernel, info
from ...projections.base import Dropped, Projection
from ...spaces.categorical import CategoricalBelief
from ...target import Target
from .rule import box_side


@dataclass(frozen=True)
class Kempe(Kernel):
    """Target Q*; invariance holds (block Gibbs). One step redraws the chains of one random pair of digits."""

    size: int  # the board's side

    def step(self, dice: Dice, z: Tensor, target: Target[CategoricalBelief]) -> tuple[Tensor, Info]:
        size = self.size
        pairs = torch.combinations(torch.arange(size, device=z.device))
        pair = pairs[dice.categorical(torch.zeros(len(z), len(pairs), device=z.device))]
        first, second = z == pair[:, :1], z == pair[:, 1:]
        other = torch.where(first, pair[:, 1:], torch.where(second, pair[:, :1], z))
        gain = target.weights.site_scores(other) - target.weights.site_scores(z)
        gain = gain.clamp(min=LOG_ZERO)  # −∞ at a known cell would spoil the sums of the components without it
        joined = self.joined(first, second)
        odds = (joined * gain.view(-1, 1, size, size).sum(-1)).sum(-1)
        # One choice for every row; that of a component's first row counts for the whole component.
        choice = dice.categorical(torch.stack([torch.zeros_like(odds), odds], -1).flatten(0, 1)).view_as(odds)
        switched = choice.gather(1, joined.argmax(-1)).repeat_interleave(size, 1).bool()
        after = torch.where(switched, other, z)
        moved = (after != z).any(-1)
        return after, info(z, after, moved, torch.zeros_like(moved))

    def joined(self, first: Tensor, second: Tensor) -> Tensor:
        """Which rows are in one component, ``[batch, S, S]`` 0 or 1; ``first`` and ``second`` show the two digits."""
        n, size = box_side(self.size), self.size
        rows = torch.arange(size, device=first.device)
        a, b = (cells.view(-1, size, size).to(torch.uint8).argmax(-1) for cells in (first, second))
        box_a, box_b = rows // n * n + a // n, rows // n * n + b // n
        link = (a[:, :, None] == b[:, None]) | (box_a[:, :, None] == box_b[:, None])
        reach = (link | link.transpose(1, 2) | (rows[:, None] == rows)).float()
        for _ in range((size - 1).bit_length()):  # paths of 1, 2, 4, … steps
            reach = (reach @ reach).clamp(max=1.0)
        return reach.to(torch.uint8)


@dataclass(frozen=True)
class Chosen(Projection):
    """A projection whose dropped sites have been decided, ``[batch, d]``."""

    sites: Tensor

    def draw(self, dice: Dice, batch: int, device: torch.device) -> Dropped:
        return Dropped(self.sites)


@dataclass(frozen=True)
class Confident(Kernel):
    """Target Q*; invariance holds (see the module's text)."""

    inverse: Inverse  # finds the completions
    drop: int  # d, how many cells are dropped

    def step(self, dice: Dice, z: Tensor, target: Target[CategoricalBelief]) -> tuple[Tensor, Info]:
        sure = target.weights.scores.log_softmax(-1).amax(-1)
        dropped = sure.topk(self.drop, largest=False).indices.sort(-1).values
        return Guided(self.inverse, Chosen(dropped)).step(dice, z, target)
