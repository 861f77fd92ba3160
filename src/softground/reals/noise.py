"""A move for reals: uniform noise on one kept component (the paper's walk for shortest paths)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..dice import Dice
from ..errors import ProjectionError
from ..projections.base import Move
from .gaussian import snap


class AddNoise(Move):
    """Add noise, uniform on [−width, width], to one kept component chosen uniformly. Symmetric.

    >>> AddNoise(5.0)
    AddNoise(5.0)
    """

    def __init__(self, width: float = 5.0) -> None:
        if not 0 < width < math.inf:
            raise ProjectionError(f"width={width} was given; expected a positive finite number.")
        self.width = width

    def __repr__(self) -> str:
        return f"AddNoise({self.width})"

    def propose(self, dice: Dice, z: Tensor, kept: Tensor) -> Tensor:
        site = dice.categorical(torch.zeros_like(z).masked_fill(~kept, -math.inf))[:, None]
        noise = snap(self.width * (2 * dice.uniform(len(z)) - 1))
        return z.scatter_add(1, site, noise[:, None])
