r"""Q* of a mixture of K products on S_y: that of every product, weighed by how much of S_y it holds.

With :math:`M_k = \sum_{z \in S_y} P_k(z|x)`,

.. math:: \log \sum_{z \in S_y} P(z|x) = \log \sum_k w_k M_k, \qquad
          Q^*(k) = \frac{w_k M_k}{\sum_j w_j M_j}, \qquad Q^*(k, z_i = s) = Q^*(k)\, Q^*_{k,i}(s) .

Mass, marginals and draws are exact wherever the law of one product is, at K times the cost. Mode and entropy do not
follow from the products' own: they are exact where S_y can be listed. Elsewhere the mode is the best of the products'
modes, and the entropy is refused.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..dice import Dice
from ..errors import InverseError
from ..spaces.mixture import MixtureBelief, pick
from ..target import Target
from .law import Law, refuse_empty, shannon

if TYPE_CHECKING:
    from .base import Inverse


def law_of(inverse: Inverse, target: Target[Any]) -> Law:
    """Q* by an inverse that knows the law of products, for whatever kind of P(z|x)."""
    return MixtureLaw(inverse, target) if isinstance(target.weights, MixtureBelief) else inverse.law(target)


class MixtureLaw(Law):
    """Q* of a mixture. Its marginals are those of components and symbols together, ``[batch, K, sites, codes]``."""

    def __init__(self, inverse: Inverse, target: Target[MixtureBelief]) -> None:
        self.inverse, self.mixture, self.y, self.gamma = inverse, target.weights, target.answers, target.gamma
        answers = self.y.repeat_interleave(self.mixture.count, 0)
        self.law = inverse.law(Target(self.mixture.products, answers, target.gamma))

    @cached_property
    def shares(self) -> Tensor:
        """log w_k M_k, ``[batch, K]``."""
        return self.mixture.log_weights + self.law.log_mass().view_as(self.mixture.log_weights)

    def _refuse_empty(self) -> None:
        """A row is empty for all products or for none; the products' law would name its own rows."""
        refuse_empty(torch.isneginf(self.shares.detach().amax(-1)))

    def log_mass(self) -> Tensor:
        return self.shares.logsumexp(-1)

    def marginals(self) -> Tensor:
        self._refuse_empty()
        return self.shares.softmax(-1)[..., None, None] * self.law.marginals().view_as(self.mixture.each)

    def site_entropies(self) -> Tensor:
        return shannon(self.marginals().sum(1))

    def draw(self, dice: Dice) -> Tensor:
        self._refuse_empty()
        chosen = self.mixture.component(dice.categorical(self.shares.detach()))
        return self.inverse.law(Target(chosen, self.y, self.gamma)).draw(dice)

    def mode(self) -> Tensor:
        """The likeliest z ∈ S_y: exact where S_y can be listed, else the likeliest of the products' modes."""
        self._refuse_empty()
        listed = self._listed()
        if listed is None:
            modes = self.law.mode().view(*self.mixture.each.shape[:3])
            best = torch.stack([self.mixture.log_prob(z) for z in modes.unbind(1)], 1).argmax(1)
            return pick(modes, best)
        states, owner, log_weight = listed
        peak = torch.full_like(self.shares[:, 0], -torch.inf).scatter_reduce(0, owner, log_weight, "amax")
        place = torch.arange(len(owner), device=owner.device).masked_fill(log_weight < peak[owner], len(owner))
        return states[torch.full_like(owner, len(owner))[: len(peak)].scatter_reduce(0, owner, place, "amin")]

    def entropy(self) -> Tensor:
        self._refuse_empty()
        listed = self._listed()
        if listed is None:
            raise InverseError(
                f"The entropy of a mixture on S_y is a sum over all of S_y, which {self.inverse!r} cannot list for "
                "these answers. Use a table, or a listing without complements; one product; or site_entropies()."
            )
        _, owner, log_weight = listed
        mass = self.log_mass()
        log_law = log_weight - mass[owner]
        return torch.zeros_like(mass).index_add(0, owner, -log_law.exp() * log_law)

    def _listed(self) -> tuple[Tensor, Tensor, Tensor] | None:
        """The states of S_y that known symbols leave, whose they are, and log P; None where S_y cannot be listed."""
        try:
            solutions = self.inverse.solutions(self.y)
        except InverseError:
            return None
        states, owner = self.mixture.space.states(solutions.index), solutions.owner
        kept = self.mixture.component(0).detach().rows(owner).log_prob(states) > -torch.inf
        states, owner = states[kept], owner[kept]
        return states, owner, self.mixture.rows(owner).log_prob(states)
