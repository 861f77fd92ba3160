r"""The softened grounding: the Boltzmann law a chain samples (eq. 5 of the paper).

For an input x with answer y and temperature γ,

.. math:: Q^*(z) = \frac{P_\theta(z|x)^{1/\gamma}}{\sum_{z' \in S_y} P_\theta(z'|x)^{1/\gamma}}, \qquad z \in S_y .

γ = 1 is the posterior of z given y (the semantic loss's weights), γ → ∞ the uniform law on S_y, γ → 0 the
single most probable feasible z. The energy is the **sum** over sites of −log P(z_i|x).

Reference: Z. Li et al., Softened Symbol Grounding for Neuro-symbolic Systems, ICLR 2023.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from torch import Tensor

from .spaces.base import Belief

B = TypeVar("B", bound=Belief)


@dataclass(frozen=True, eq=False)
class Target(Generic[B]):
    """Q* for a batch: tempered weights P(z|x)^{1/γ}, and encoded answers y that pick out S_y."""

    weights: B
    answers: Tensor
    gamma: float

    @classmethod
    def at(cls, belief: B, answers: Tensor, gamma: float) -> Target[B]:
        """The target at temperature ``gamma``."""
        return cls(belief.tempered(gamma), answers, gamma)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.weights)

    def log_weight(self, z: Tensor) -> Tensor:
        """log of P(z|x)^{1/γ}, one symbol vector per example."""
        return self.weights.log_prob(z)
