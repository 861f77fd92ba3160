"""Data sets of weakly labelled examples."""

from .augment import RandomAffine
from .digits import handwritten
from .examples import Examples
from .idx import Digits, load_idx_digits, read_idx

__all__ = ["Digits", "Examples", "RandomAffine", "handwritten", "load_idx_digits", "read_idx"]
