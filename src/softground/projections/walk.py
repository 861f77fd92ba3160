"""What a kernel needs to walk: how fibres are found, what is dropped, how it moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..spaces.base import Space
from .base import Move, Projection

if TYPE_CHECKING:
    from ..inverses.base import Inverse


@dataclass(frozen=True)
class Walk:
    """The parts that kernels are made of by name (:data:`softground.kernels.KERNELS`).

    Attributes
    ----------
    inverse, space
        How fibres are found, and where the symbols live.
    drop
        The paper's projection: one fixed set.
    family
        The projection of the other kernels, drawn at every step.
    move
        How the walk moves in Ω.
    """

    inverse: Inverse
    space: Space
    drop: Projection
    family: Projection
    move: Move
