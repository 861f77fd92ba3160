r"""Independent draws from Q* itself, by listing S_y. Exact, and no chain is needed.

.. math:: Q^*(z) = w(z) \Big/ \sum_{z' \in S_y} w(z'), \qquad w(z) = P(z|x)^{1/\gamma} .

Where the space is tabulated this costs a look-up or two per solution. The site-wise marginals Q*_i(s) come from the
same weights: with them the loss −Σ_i Σ_s Q*_i(s) log P_i(s|x) has the exact gradient, at γ = 1 that of the semantic
loss (Proposition 2), with no sampling noise at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..dice import Dice
from ..errors import InfeasibleAnswer
from ..inverses.base import Solutions, SolvingInverse
from ..spaces.categorical import Block, CategoricalBelief
from ..target import Target
from .base import ChainState, Info, info, start_at


@dataclass(frozen=True)
class Exact:
    """Target Q*; each step is an independent draw from it, whatever the chain's state.

    Parameters
    ----------
    inverse
        Lists S_y; a :class:`~softground.inverses.Table` does so without search.
    marginals
        Whether steps report Q*'s marginals (the default: they cost little and remove the sampling noise).
    """

    inverse: SolvingInverse
    marginals: bool = True

    def init(self, z: Tensor) -> ChainState:
        return start_at(z)

    def step(self, dice: Dice, state: ChainState, target: Target[CategoricalBelief]) -> tuple[ChainState, Info]:
        solutions = self.inverse.solutions(target.answers)
        blocks = target.weights.blocks()
        places = [block.position(solutions.owner, solutions.index) for block in blocks]
        law = softmax(solutions, log_weights(blocks, places))
        chosen = solutions.index[dice.segment(law, solutions.offsets)]
        after = target.weights.space.states(chosen)
        marginals = site_marginals(target.weights, blocks, places, law) if self.marginals else None
        true = torch.ones(len(after), dtype=torch.bool, device=after.device)
        return ChainState(after), info(state.z, after, true, ~true, marginals)


def log_weights(blocks: list[Block], places: list[Tensor]) -> Tensor:
    """log w(z) of every solution, one look-up per block."""
    total = blocks[0].scores.flatten()[places[0]]
    for block, place in zip(blocks[1:], places[1:], strict=True):
        total = total + block.scores.flatten()[place]
    return total


def softmax(solutions: Solutions, log_weight: Tensor) -> Tensor:
    """Q*(z) of every solution: a softmax over each example's ragged row."""
    batch = len(solutions.offsets) - 1
    if len(solutions.index) == 0 or bool((solutions.count == 0).any()):
        rows = tuple((solutions.count == 0).nonzero().flatten().tolist())
        raise InfeasibleAnswer(f"S_y is empty for row(s) {list(rows)} of this batch: correct their answers.", rows)
    peak = torch.full((batch,), -torch.inf, dtype=log_weight.dtype, device=log_weight.device)
    peak = peak.scatter_reduce(0, solutions.owner, log_weight, "amax")
    weight = (log_weight - peak[solutions.owner]).exp()
    total = torch.zeros_like(peak).index_add(0, solutions.owner, weight)
    return weight / total[solutions.owner]


def site_marginals(belief: CategoricalBelief, blocks: list[Block], places: list[Tensor], law: Tensor) -> Tensor:
    """Q*'s marginals ``[batch, sites, K]``: weights added up per block, then summed down to its sites."""
    marginals = torch.zeros_like(belief.scores)
    for block, place in zip(blocks, places, strict=True):
        joint = torch.zeros(block.scores.numel(), dtype=law.dtype, device=law.device).index_add(0, place, law)
        parts = block.site_marginals(joint.view_as(block.scores), belief.space.sizes)
        for site, one in zip(block.sites, parts, strict=True):
            marginals[:, site, : one.shape[1]] = one
    return marginals
