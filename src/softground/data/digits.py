"""Images of handwritten digits by the name of their source."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ..errors import DataError
from .embedded import embedded_digits
from .idx import Digits, load_idx_digits

Source = Literal["digits", "mnist"]


def load_digits(source: Source, data_dir: Path | None) -> tuple[Digits, Digits, str]:
    """Digits to train and to test on, of different images, and a sentence that says where they come from."""
    if source == "digits":
        return *embedded_digits(), "Real 8×8 handwritten digits of scikit-learn, a quarter of them for testing."
    if data_dir is None:
        raise DataError("MNIST lies in a folder of yours: give the one that holds its IDX files (--data-dir).")
    note = "MNIST digits; test examples show images of its test set."
    return load_idx_digits(data_dir, "train"), load_idx_digits(data_dir, "test"), note
