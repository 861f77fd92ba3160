"""Handwritten digits that need no download: scikit-learn's, 1,797 real 8×8 images."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from ..errors import DataError
from .idx import Digits

TEST_EVERY = 4  # every fourth image of each digit is held out for testing
SCALE = 2  # the 8×8 images are enlarged to 16×16


def embedded_digits() -> tuple[Digits, Digits]:
    """scikit-learn's digits, every fourth image of each class for testing."""
    try:
        datasets = import_module("sklearn.datasets")
    except ImportError as error:
        raise DataError("The source 'digits' needs scikit-learn: pip install scikit-learn.") from error
    data = datasets.load_digits()
    grey = (data.images * (255 / 16)).round().astype(np.uint8).repeat(SCALE, 1).repeat(SCALE, 2)
    labels = data.target.astype(np.uint8)
    held_out = np.zeros(len(labels), dtype=np.bool_)
    for digit in range(10):
        held_out[np.flatnonzero(labels == digit)[TEST_EVERY - 1 :: TEST_EVERY]] = True
    return Digits(grey[~held_out], labels[~held_out]), Digits(grey[held_out], labels[held_out])
