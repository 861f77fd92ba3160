"""Data sets of weakly labelled examples."""

from .augment import RandomAffine
from .examples import Examples

__all__ = ["Examples", "RandomAffine"]
