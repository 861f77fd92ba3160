"""Dice that walk through every outcome, so that a kernel's transition matrix comes from the code that runs.

A kernel's step makes a fixed sequence of choices, each a row of probabilities per chain. Replaying the step
with all chains at once, one more choice decided in each pass, visits every path through the choices; a path's
probability is the product of its choices', and the matrix entry the sum over the paths that end there.

The tests of the kernels rest on this file (``tests/support/exhaustive.py``), and so do the paper's distances to Q*.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from softground.errors import SoftgroundError
from softground.kernels import Info, Kernel
from softground.spaces import Categorical
from softground.target import Target


class Replay:
    """Dice whose first choices are given; they record the probabilities of the next one."""

    def __init__(self, decided: Tensor) -> None:
        self.decided = decided  # [chains, choices made so far]
        self.made = 0
        self.next: Tensor | None = None

    def _choose(self, probabilities: Tensor) -> Tensor:
        """``[chains, k, options]``: k choices in a row for each chain."""
        outcomes = []
        for choice in probabilities.unbind(1):
            if self.made < self.decided.shape[1]:
                outcomes.append(self.decided[:, self.made])
            else:
                if self.next is None:
                    self.next = choice
                outcomes.append(choice.argmax(-1))
            self.made += 1
        return torch.stack(outcomes, 1)

    def categorical(self, log_weights: Tensor) -> Tensor:
        chains = len(self.decided)
        return self._choose(log_weights.double().softmax(-1).view(chains, -1, log_weights.shape[-1])).flatten()

    def segment(self, weights: Tensor, offsets: Tensor) -> Tensor:
        count = offsets.diff()
        table = torch.zeros(len(count), int(count.max()), dtype=torch.float64)
        for row, (low, high) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
            table[row, : high - low] = weights[low:high] / weights[low:high].sum()
        return self._choose(table[:, None])[:, 0] + offsets[:-1]

    def accept(self, log_ratio: Tensor) -> Tensor:
        p = log_ratio.double().exp().clamp(max=1.0)
        return self._choose(torch.stack([1 - p, p], -1)[:, None])[:, 0].bool()

    def uniform(self, rows: int) -> Tensor:
        raise SoftgroundError("A kernel on reals was given; its outcomes cannot be listed.")


def transition_matrix(
    kernel: Kernel, states: Tensor, target: Callable[[int], Target[Any]], space: Categorical
) -> Tensor:
    """P[i, j]: probability of going from states[i] to states[j] in one step; ``states`` must be all of S_y."""
    place = {index: row for row, index in enumerate(space.index(states).tolist())}
    start, probability, after, _ = every_path(kernel, states, target)
    reached = space.index(after).tolist()
    if not set(reached) <= set(place):
        raise SoftgroundError("A step left the states that were given; give all of S_y.")
    matrix = torch.zeros(len(states), len(states), dtype=torch.float64)
    stop = torch.tensor([place[i] for i in reached])
    return matrix.index_put((start, stop), probability, accumulate=True)


def every_path(
    kernel: Kernel, states: Tensor, target: Callable[[int], Target[Any]]
) -> tuple[Tensor, Tensor, Tensor, Info]:
    """Every path of one step from every state: where it starts, its probability, where it ends, what it reports."""
    start = torch.arange(len(states))
    probability = torch.ones(len(states), dtype=torch.float64)
    decided = torch.zeros(len(states), 0, dtype=torch.long)
    while True:
        dice = Replay(decided)
        after, step = kernel.step(dice, states[start], target(len(start)))
        if dice.next is None:
            break
        row, outcome = dice.next.nonzero(as_tuple=True)
        probability = probability[row] * dice.next[row, outcome]
        decided = torch.cat([decided[row], outcome[:, None]], 1)
        start = start[row]
    return start, probability, after, step


__all__ = ["Replay", "every_path", "transition_matrix"]
