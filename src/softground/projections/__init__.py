"""Projections: which components are dropped, and how one moves in Ω."""

from .base import Move, Projection
from .drop import Drop, RandomDrop
from .moves import ChangeOne

__all__ = ["ChangeOne", "Drop", "Move", "Projection", "RandomDrop"]
