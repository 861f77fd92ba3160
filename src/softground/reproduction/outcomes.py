"""The transition matrix of a kernel, from the code that runs: dice that go through every outcome of a step.

All chains are stepped at once, again and again, each time with one more of the step's choices decided. A row of the
batch is one way through the choices, its probability the product of theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..errors import SoftgroundError
from ..kernels import Kernel
from ..spaces import Categorical
from ..target import Target


class Outcomes:
    """Dice whose first choices are ``decided[rows, choices]``; ``open`` holds the probabilities of the next one."""

    def __init__(self, decided: Tensor) -> None:
        self._decided = decided
        self._made = 0
        self.open: Tensor | None = None

    def categorical(self, log_weights: Tensor) -> Tensor:
        return self._choose(log_weights.double().softmax(-1))

    def accept(self, log_ratio: Tensor) -> Tensor:
        yes = log_ratio.double().exp().clamp(max=1.0)
        return self._choose(torch.stack([1 - yes, yes], -1)).bool()

    def segment(self, weights: Tensor, offsets: Tensor) -> Tensor:
        raise SoftgroundError("A kernel that draws from ragged lists was given; its law is known without a matrix.")

    def uniform(self, rows: int) -> Tensor:
        raise SoftgroundError("A kernel on reals was given; its transition matrix cannot be listed.")

    def _choose(self, probabilities: Tensor) -> Tensor:
        at, self._made = self._made, self._made + 1
        if at < self._decided.shape[1]:
            return self._decided[:, at]
        if self.open is None:
            self.open = probabilities
        return probabilities.argmax(-1)


def transition_matrix(
    kernel: Kernel, states: Tensor, target: Callable[[int], Target[Any]], space: Categorical
) -> Tensor:
    """``P[i, j]``, the probability of a step from states[i] to states[j]; ``target(rows)`` is Q* for so many rows."""
    row = torch.arange(len(states))
    probability = torch.ones(len(states), dtype=torch.float64)
    decided = torch.zeros(len(states), 0, dtype=torch.long)
    while True:
        dice = Outcomes(decided)
        after, _ = kernel.step(dice, states[row], target(len(row)))
        if dice.open is None:
            break
        way, outcome = dice.open.nonzero(as_tuple=True)
        probability = probability[way] * dice.open[way, outcome]
        decided = torch.cat([decided[way], outcome[:, None]], 1)
        row = row[way]
    order = space.index(states).sort()
    reached = space.index(after)
    place = torch.searchsorted(order.values, reached).clamp(max=len(states) - 1)
    if not torch.equal(order.values[place], reached):
        raise SoftgroundError("A step left the states that were given; give all of S_y.")
    matrix = torch.zeros(len(states), len(states), dtype=torch.float64)
    return matrix.index_put((row, order.indices[place]), probability, accumulate=True)


__all__ = ["Outcomes", "transition_matrix"]
