"""Data sets of weakly labelled examples."""

from .anchors import Anchors
from .augment import RandomAffine
from .digits import handwritten
from .examples import Examples, Split
from .idx import Digits, load_idx_digits, read_idx

__all__ = ["Anchors", "Digits", "Examples", "RandomAffine", "Split", "handwritten", "load_idx_digits", "read_idx"]
