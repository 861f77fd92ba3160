"""Data sets of weakly labelled examples."""

from .anchors import Anchors
from .augment import RandomAffine
from .digits import handwritten
from .examples import Examples, Split
from .idx import Digits, load_idx_digits, read_idx
from .ragged import Ragged

__all__ = [
    "Anchors",
    "Digits",
    "Examples",
    "Ragged",
    "RandomAffine",
    "Split",
    "handwritten",
    "load_idx_digits",
    "read_idx",
]
