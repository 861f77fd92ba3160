r"""Q* on a listed S_y, in the three shapes that lists come in.

.. math:: Q^*(z) = w(z) \Big/ \sum_{z' \in S_y} w(z'), \qquad Q^*_i(s) = \sum_{z:\, z_i = s} Q^*(z) .

*Ragged* rows hold each example's solutions one after the other: the least work, but the rows' lengths must be asked of
the device first. *Padded* rows are as long as the longest S_y there is: more work, no question asked, so that a GPU's
queue never runs dry. A list *shared* by all examples needs no rows at all: log w and the marginals are two matrix
products with its one-hot codes.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from ..dice import Dice
from ..errors import InfeasibleAnswer
from ..inverses.base import PaddedSolutions, Solutions, log_weights
from ..spaces.categorical import Block, CategoricalBelief


class Law(Protocol):
    """Q* of a batch."""

    def draw(self, dice: Dice) -> Tensor:
        """One state an example, ``[batch, sites]``."""

    def marginals(self) -> Tensor:
        """Q*'s marginals, ``[batch, sites, K]``."""


class Ragged:
    """Q* on ragged rows of state indices."""

    def __init__(self, solutions: Solutions, weights: CategoricalBelief) -> None:
        if len(solutions.index) == 0 or bool((solutions.count == 0).any()):
            rows = tuple((solutions.count == 0).nonzero().flatten().tolist())
            raise InfeasibleAnswer(f"S_y is empty for row(s) {list(rows)} of this batch: correct their answers.", rows)
        self.solutions, self.weights, self.blocks = solutions, weights, weights.blocks()
        self.places = [block.position(solutions.owner, solutions.index) for block in self.blocks]
        log_weight, owner = log_weights(self.blocks, self.places), solutions.owner
        peak = torch.full((len(weights),), -torch.inf, dtype=log_weight.dtype, device=log_weight.device)
        peak = peak.scatter_reduce(0, owner, log_weight, "amax")
        weight = (log_weight - peak[owner]).exp()
        self.law = weight / torch.zeros_like(peak).index_add(0, owner, weight)[owner]

    def draw(self, dice: Dice) -> Tensor:
        chosen = dice.segment(self.law, self.solutions.offsets)
        return self.weights.space.states(self.solutions.index[chosen])

    def marginals(self) -> Tensor:
        return site_marginals(self.weights, self.blocks, self.places, self.law)


class Padded:
    """Q* on rows of one length, some of whose entries do not count; no row is empty."""

    def __init__(self, solutions: PaddedSolutions, weights: CategoricalBelief) -> None:
        self.solutions, self.weights, self.blocks = solutions, weights, weights.blocks()
        owner = torch.arange(len(weights), device=solutions.index.device)[:, None]
        self.places = [block.position(owner, solutions.index) for block in self.blocks]
        self.log_weight = log_weights(self.blocks, self.places).masked_fill(~solutions.mask, -torch.inf)

    def draw(self, dice: Dice) -> Tensor:
        chosen = dice.categorical(self.log_weight)
        return self.weights.space.states(self.solutions.index.gather(1, chosen[:, None]).squeeze(1))

    def marginals(self) -> Tensor:
        law = self.log_weight.softmax(-1).flatten()
        return site_marginals(self.weights, self.blocks, [place.flatten() for place in self.places], law)


class Shared:
    """Q* on one list of states ``[N, sites]`` for all examples, with their one-hot codes ``[N, sites · K]``."""

    def __init__(self, states: Tensor, codes: Tensor, weights: CategoricalBelief) -> None:
        self.states, self.weights = states, weights
        # A code outside a site's alphabet occurs in no state: its score is multiplied by 0, and must not be −∞.
        scores = weights.scores.masked_fill(~weights.space.layout(states.device).allowed, 0.0)
        self.codes = codes.to(scores.dtype)
        self.log_weight = scores.flatten(1) @ self.codes.T

    def draw(self, dice: Dice) -> Tensor:
        return self.states[dice.categorical(self.log_weight)]

    def marginals(self) -> Tensor:
        return (self.log_weight.softmax(-1) @ self.codes).view_as(self.weights.scores)


def site_marginals(belief: CategoricalBelief, blocks: list[Block], places: list[Tensor], law: Tensor) -> Tensor:
    """Marginals ``[batch, sites, K]``: weights added up per block, then summed down to its sites."""
    marginals = torch.zeros_like(belief.scores)
    for block, place in zip(blocks, places, strict=True):
        joint = torch.zeros(block.scores.numel(), dtype=law.dtype, device=law.device).index_add(0, place, law)
        parts = block.site_marginals(joint.view_as(block.scores), belief.space.sizes)
        for site, one in zip(block.sites, parts, strict=True):
            marginals[:, site, : one.shape[1]] = one
    return marginals
