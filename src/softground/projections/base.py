"""The projection seam: dropped components, and moves in Ω, the space of the others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..dice import Dice
from ..spaces.base import Space


@dataclass(frozen=True, eq=False)
class Dropped:
    """The dropped sites of each example."""

    sites: Tensor  # [batch, d]
    shared: bool = False  # whether all examples drop the same set
    key: tuple[int, ...] | None = None  # that set, if known without asking the device; a table caches by it

    @property
    def count(self) -> int:
        """d, the number of sites that each example drops."""
        return self.sites.shape[1]

    def kept(self, sites: int) -> Tensor:
        """The complement as a mask, ``[batch, sites]``."""
        kept = torch.ones(len(self.sites), sites, dtype=torch.bool, device=self.sites.device)
        return kept.scatter(1, self.sites, False)

    def rows(self, index: Tensor | slice) -> Dropped:
        """The dropped sites of some of the examples."""
        return Dropped(self.sites[index], self.shared, self.key)

    def twice(self) -> Dropped:
        """The same for a batch followed by another of its size."""
        rows = self.sites[:1].expand(2 * len(self.sites), -1) if self.shared else self.sites.repeat(2, 1)
        return Dropped(rows, self.shared, self.key)


class Projection(ABC):
    """Chooses the dropped sites, independently of the chain's state."""

    @abstractmethod
    def draw(self, dice: Dice, batch: int, device: torch.device) -> Dropped:
        """The dropped sites of each example."""


class Move(ABC):
    """A symmetric proposal on Ω: going from u to u′ is as likely as going back."""

    @abstractmethod
    def propose(self, dice: Dice, z: Tensor, kept: Tensor) -> Tensor:
        """A copy of ``z[batch, sites]`` changed at kept sites only (``kept[batch, sites]`` bool)."""


@dataclass(frozen=True)
class Walk:
    """What kernels are made of by name (:data:`softground.kernels.KERNELS`)."""

    inverse: Any  # an Inverse, which itself knows projections
    space: Space
    drop: Projection  # the paper's: one fixed set
    family: Projection  # of the other kernels, drawn at every step
    move: Move
