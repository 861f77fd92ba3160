"""Projections: dropped components, and moves in Ω."""

from .base import Dropped, Move, Projection, Walk
from .drop import Drop, RandomBlock, RandomDrop
from .moves import ChangeOne, Stay, SwapInside, SwapSymbols

__all__ = ["ChangeOne", "Drop", "Dropped", "Move", "Projection", "RandomBlock", "RandomDrop", "Stay", "SwapInside"]
__all__ += ["SwapSymbols", "Walk"]
