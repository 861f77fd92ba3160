"""The projection seam: which components are dropped, and how one moves in Ω, the space of the others."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from ..dice import Dice


class Projection(Protocol):
    """Chooses the dropped sites, independently of the chain's state."""

    def draw(self, dice: Dice, batch: int, device: torch.device) -> Tensor:
        """Dropped sites of each example, ``[batch, d]``."""


class Move(Protocol):
    """A symmetric proposal on Ω: going from u to u′ is as likely as going back."""

    def propose(self, dice: Dice, z: Tensor, kept: Tensor) -> Tensor:
        """A copy of ``z[batch, sites]`` changed at kept sites only (``kept[batch, sites]`` bool)."""


def kept_sites(dropped: Tensor, sites: int) -> Tensor:
    """The complement of the dropped sites as a mask, ``[batch, sites]``."""
    kept = torch.ones(len(dropped), sites, dtype=torch.bool, device=dropped.device)
    return kept.scatter(1, dropped, False)
