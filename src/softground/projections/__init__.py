"""Projections: which components are dropped, and how one moves in Ω."""

from .base import Dropped, Move, Projection
from .drop import Drop, RandomDrop
from .moves import ChangeOne
from .swap import Stay, SwapInside, SwapSymbols
from .walk import Walk

__all__ = [
    "ChangeOne",
    "Drop",
    "Dropped",
    "Move",
    "Projection",
    "RandomDrop",
    "Stay",
    "SwapInside",
    "SwapSymbols",
    "Walk",
]
