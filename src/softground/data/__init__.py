"""Data sets of weakly labelled examples."""

from .anchors import Anchors
from .augment import RandomAffine
from .columns import Records
from .digits import Digits, handwritten, load_idx_digits, read_idx
from .examples import Examples, Ragged, Split
from .gathered import Gathered

__all__ = [
    "Anchors",
    "Digits",
    "Examples",
    "Gathered",
    "Ragged",
    "RandomAffine",
    "Records",
    "Split",
    "handwritten",
    "load_idx_digits",
    "read_idx",
]
