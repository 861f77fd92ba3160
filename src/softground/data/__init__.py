"""Data sets of weakly labelled examples."""

from .anchors import Anchors
from .augment import RandomAffine
from .columns import Records
from .digits import handwritten
from .examples import Examples, Split
from .gathered import Gathered
from .idx import Digits, load_idx_digits, read_idx
from .ragged import Ragged

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
