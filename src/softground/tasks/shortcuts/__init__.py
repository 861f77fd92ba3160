"""Rules that other readings of the symbols explain as well: reasoning shortcuts, on images of digits."""

from .pairs import EvenOdd, Half

__all__ = ["EvenOdd", "Half"]
