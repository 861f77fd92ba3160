"""Moves on Ω."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..dice import Dice
from ..errors import ProjectionError
from ..spaces.categorical import Categorical
from .base import Move


class ChangeOne(Move):
    """Change one kept component: the site uniform among the kept, the symbol uniform among the others of its alphabet.

    Symmetric: both ways have probability 1 / (kept sites) · 1 / (alphabet size − 1). Sites with a single
    symbol cannot change and are never chosen.
    """

    def __init__(self, space: Categorical) -> None:
        if max(space.sizes) == 1:
            raise ProjectionError("No site of this space has more than one symbol: there is nothing to change.")
        self.space = space

    def propose(self, dice: Dice, z: Tensor, kept: Tensor) -> Tensor:
        layout = self.space.layout(z.device)
        movable = kept & (layout.sizes > 1)
        # A row whose kept sites are all fixed proposes to stay, by 'changing' any site to itself.
        stuck = ~movable.any(-1)
        site = dice.categorical(
            torch.zeros_like(movable, dtype=torch.float32).masked_fill(~(movable | stuck[:, None]), -math.inf)
        )[:, None]
        current = z.gather(1, site)
        codes = torch.arange(self.space.width, device=z.device)
        others = layout.allowed[site.squeeze(1)] & (codes != current)
        others = others | (stuck[:, None] & (codes == current))
        symbol = dice.categorical(torch.zeros_like(others, dtype=torch.float32).masked_fill(~others, -math.inf))
        symbol = torch.where(stuck, current.squeeze(1), symbol)
        return z.scatter(1, site, symbol[:, None])
