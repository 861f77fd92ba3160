"""Rules that other readings of the symbols explain as well: reasoning shortcuts, on images of digits."""

from .logic import MNLogic
from .math import MNMath
from .pairs import EvenOdd, Half

__all__ = ["EvenOdd", "Half", "MNLogic", "MNMath"]
