r"""The softened grounding: the Boltzmann distribution that a chain samples (eq. 5 of the paper).

For an input x with answer y and temperature γ,

.. math:: Q^*(z) = \frac{P_\theta(z|x)^{1/\gamma}}{\sum_{z' \in S_y} P_\theta(z'|x)^{1/\gamma}}, \qquad z \in S_y .

γ = 1 is the posterior of z given y (the semantic loss's weights), γ → ∞ the uniform distribution on
S_y, γ → 0 the single most probable feasible z. The energy is the **sum** over sites of −log P(z_i|x).

Reference: Z. Li et al., Softened Symbol Grounding for Neuro-symbolic Systems, ICLR 2023.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from torch import Tensor

from .errors import DataError, LearnerError
from .spaces.base import Belief

B = TypeVar("B", bound=Belief)


@dataclass(frozen=True, eq=False)
class Target(Generic[B]):
    """Q* for a batch: tempered weights P(z|x)^{1/γ}, and encoded answers y that select S_y."""

    weights: B
    answers: Tensor
    gamma: float
    checked: bool = False  # whether the answers are known to be codes of the rule (plain numbers in training)

    def __post_init__(self) -> None:
        if self.gamma != 1 and getattr(self.weights, "gamma", None) == 1:
            raise LearnerError(
                f"Target(belief, codes, {self.gamma}) was given, which does not change the belief; expected "
                f"Target.at(belief, codes, {self.gamma}), or 1 for P(z|x) itself."
            )
        if len(self.weights) != len(self.answers):
            raise DataError(f"{len(self.weights)} inputs but {len(self.answers)} answers: give one answer per input.")

    @classmethod
    def at(cls, belief: B, answers: Tensor, gamma: float, checked: bool = False) -> Target[B]:
        """The target at temperature ``gamma``."""
        return cls(belief.tempered(gamma), answers, gamma, checked)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.weights)

    def log_weight(self, z: Tensor) -> Tensor:
        """log of P(z|x)^{1/γ}, one symbol vector per example."""
        return self.weights.log_prob(z)
