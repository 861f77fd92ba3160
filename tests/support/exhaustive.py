"""Transition matrices of kernels, whether everything can be reached by them, and all outcomes of a draw."""

from __future__ import annotations

import torch
from torch import Tensor, eye, float64

from softground.inverses import Inverse
from softground.spaces import CategoricalBelief
from softground.target import Target
from tools.outcomes import Replay, every_path, transition_matrix


def reaches_everything(matrix: Tensor) -> bool:
    """Whether every state can be reached from every other in some number of steps."""
    step = (matrix > 0).double() + eye(len(matrix), dtype=float64)
    for _ in range(len(matrix).bit_length()):
        step = ((step @ step) > 0).double()
    return bool((step > 0).all())


def every_draw(inverse: Inverse, weights: CategoricalBelief, y: Tensor) -> list[tuple[float, Tensor]]:
    """All outcomes of one example's draw, with their probabilities."""
    decided, probability = torch.zeros(1, 0, dtype=torch.long), torch.ones(1, dtype=torch.float64)
    while True:
        dice, rows = Replay(decided), torch.zeros(len(decided), dtype=torch.long)
        drawn = inverse.law(Target(weights.rows(rows), y.expand(len(decided)), 1.0)).draw(dice)
        if dice.next is None:
            return list(zip(probability.tolist(), drawn, strict=True))
        way, outcome = dice.next.nonzero(as_tuple=True)
        probability = probability[way] * dice.next[way, outcome]
        decided = torch.cat([decided[way], outcome[:, None]], 1)


__all__ = ["Replay", "every_draw", "every_path", "reaches_everything", "transition_matrix"]
