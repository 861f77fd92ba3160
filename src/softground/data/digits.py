"""Images of handwritten digits: scikit-learn's 1,797, which need no download, or MNIST's."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from ..errors import DataError
from .idx import Digits, load_idx_digits

Source = Literal["digits", "mnist"]
TEST_EVERY = 4  # every fourth image of each digit is held out for testing


def load_digits(source: Source, data_dir: Path | None) -> tuple[Digits, Digits, str]:
    """Digits to train and to test on, of different images, and a sentence that says where they come from."""
    if source == "digits":
        return *embedded_digits(
            enlarge=2
        ), "Real 8×8 handwritten digits of scikit-learn, a quarter of them for testing."
    if data_dir is None:
        raise DataError("MNIST is not built in; give the folder that holds its IDX files (data_dir).")
    note = "MNIST digits; test examples show images of its test set."
    return load_idx_digits(data_dir, "train"), load_idx_digits(data_dir, "test"), note


def put_away(pool: Digits, share: float, seed: int) -> list[tuple[Digits, np.random.Generator]]:
    """The images to train on and those put away for validation, a ``share`` of each digit's; a generator for each."""
    chance, *generators = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(3))
    held = np.zeros(len(pool.labels), dtype=np.bool_)
    for digit in np.unique(pool.labels):
        places = np.flatnonzero(pool.labels == digit)
        count = min(max(1, round(share * len(places))), len(places) - 1)  # some on both sides, where there are two
        held[chance.permutation(places)[:count]] = True
    parts = [Digits(pool.images[own], pool.labels[own]) for own in (~held, held)]
    return list(zip(parts, generators, strict=True))


def embedded_digits(enlarge: int = 1) -> tuple[Digits, Digits]:
    """scikit-learn's 8×8 digits to train and to test on, each pixel repeated ``enlarge`` times in both directions."""
    images, labels = _sklearn_digits()
    grey = (images * (255 / 16)).round().astype(np.uint8).repeat(enlarge, 1).repeat(enlarge, 2)
    held_out = np.zeros(len(labels), dtype=np.bool_)
    for digit in range(10):
        held_out[np.flatnonzero(labels == digit)[TEST_EVERY - 1 :: TEST_EVERY]] = True
    return Digits(grey[~held_out], labels[~held_out]), Digits(grey[held_out], labels[held_out])


def _sklearn_digits() -> tuple[Any, Any]:
    """Images of 0 … 16 and labels, from scikit-learn's file: to import the library takes longer than most of a run."""
    try:
        package = Path(str(find_spec("sklearn").origin)).parent  # type: ignore[union-attr]
        rows = np.loadtxt(package / "datasets" / "data" / "digits.csv.gz", delimiter=",", dtype=np.uint8)
        return rows[:, :64].reshape(-1, 8, 8), rows[:, 64]
    except (OSError, AttributeError, ValueError):  # another layout
        pass
    try:
        data = import_module("sklearn.datasets").load_digits()
    except ImportError as error:
        raise DataError("The source 'digits' needs scikit-learn: pip install scikit-learn.") from error
    return data.images, data.target.astype(np.uint8)


def handwritten(digits: Any, part: Literal["train", "test"], seed: int = 0) -> Tensor:
    """A real handwritten image of each wanted digit: 8×8 bytes, ink bright, ``[*digits.shape, 1, 8, 8]``.

    Images are drawn with replacement, those of ``"test"`` from the quarter that ``"train"`` never shows.

    >>> handwritten([[3, 1, 4]], "train").shape
    torch.Size([1, 3, 1, 8, 8])
    """
    digits = torch.as_tensor(digits)
    if digits.is_floating_point() or digits.numel() == 0 or not 0 <= int(digits.min()) <= int(digits.max()) <= 9:
        raise DataError(f"Images of {digits!r} were asked for; expected whole numbers from 0 to 9, at least one.")
    if part not in ("train", "test"):
        raise DataError(f"part={part!r} was given; expected 'train' or 'test'.")
    pool = embedded_digits()[part == "test"]
    by_label = torch.from_numpy(pool.labels.argsort(kind="stable"))
    counts = torch.from_numpy(np.bincount(pool.labels, minlength=10))
    uniform = torch.rand(digits.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    first = counts.cumsum(0) - counts
    return torch.from_numpy(pool.images[:, None])[by_label[first[digits] + (uniform * counts[digits]).long()]]
