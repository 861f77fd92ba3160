"""Images of handwritten digits: scikit-learn's 1,797, which need no download, or MNIST's.

**MNIST's IDX files.** An IDX file begins with two zero bytes, a byte for the type (8: unsigned bytes) and a byte for
the number of dimensions, then each dimension as a big-endian 32-bit whole number, then the data, the last dimension
fastest.

Reference: Y. LeCun, C. Cortes, C. Burges, The MNIST database of handwritten digits.
"""

import gzip
import math
import zlib
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from io import BufferedIOBase
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..errors import DataError, Setting
from .checks import existing_folder

Bytes = npt.NDArray[np.uint8]
UNSIGNED_BYTES = 8
MOST_DIMENSIONS = 8
ANNOUNCED_LIMIT = 2**30  # bytes: twenty times MNIST
HEADER_ALLOWANCE = 2**16  # bytes that a file may be larger than twice its data
STEMS = {"train": "train", "test": "t10k"}
Source = Literal["digits", "mnist"]
TEST_EVERY = 4  # every fourth image of each digit is held out for testing


@dataclass(frozen=True)
class Digits:
    """Images ``[images, height, width]``, ink 255 on 0, and their digits."""

    images: Bytes
    labels: Bytes


def read_idx(path: str | PathLike[str]) -> Bytes:
    """Read the array in an IDX file of unsigned bytes, unzipped if the name ends in ``.gz``.

    At most the bytes in the header are read or unzipped, and at most ``ANNOUNCED_LIMIT``.
    """
    path = Path(path)
    try:
        if not path.is_file():  # opening a pipe would wait for ever
            raise ValueError("there is no such file")
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            return _array(stream, path.stat().st_size)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise DataError(
            f"{path} cannot be read ({error}): fetch it again. Give MNIST's own files, gzipped ones under a name that "
            "ends in .gz."
        ) from error


def _array(stream: BufferedIOBase, file_size: int) -> Bytes:
    start = stream.read(4)
    if len(start) < 4 or start[:2] != b"\0\0" or start[2] != UNSIGNED_BYTES or not 1 <= start[3] <= MOST_DIMENSIONS:
        raise ValueError(f"it does not begin like an IDX file of bytes, with 0, 0, 8, dimensions, but {list(start)}")
    sizes = stream.read(4 * start[3])
    if len(sizes) < 4 * start[3]:
        raise ValueError(f"it ends inside its header, after {4 + len(sizes)} bytes")
    shape = np.frombuffer(sizes, dtype=">u4").tolist()
    named, announced = " × ".join(map(str, shape)), math.prod(shape)
    if not 1 <= announced <= ANNOUNCED_LIMIT:
        raise ValueError(f"it announces {named} bytes; from 1 to {ANNOUNCED_LIMIT:,} are read")
    if file_size > 2 * announced + HEADER_ALLOWANCE:  # gzip would read the whole file
        raise ValueError(f"it is far larger than the {announced:,} bytes that it announces")
    content = stream.read(announced + 1)
    if len(content) != announced:
        more = " or more" if len(content) > announced else ""
        raise ValueError(f"it announces {named} bytes but holds {len(content):,}{more}")
    return np.frombuffer(content, dtype=np.uint8).reshape(shape).copy()


def load_idx_digits(folder: str | PathLike[str], part: str) -> Digits:
    """Read the ``"train"`` or ``"test"`` digits of an MNIST folder (``train-images-idx3-ubyte[.gz]`` and so on)."""
    root = existing_folder(folder, "MNIST's IDX files")
    stem = STEMS[part]
    images = read_idx(_find(root, f"{stem}-images", "idx3-ubyte"))
    labels = read_idx(_find(root, f"{stem}-labels", "idx1-ubyte"))
    if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
        raise DataError(
            f"The {part} files in {root} have shapes {images.shape} and {labels.shape}; expected images "
            "(count, height, width) and as many labels (count,)."
        )
    if labels.max() > 9:
        raise DataError(f"The {part} files in {root} have the label {labels.max()}; expected digits from 0 to 9.")
    return Digits(images, labels)


def _find(root: Path, stem: str, kind: str) -> Path:
    names = [f"{stem}{mark}{kind}{suffix}" for mark in "-." for suffix in (".gz", "")]
    for name in names:
        if (root / name).is_file():
            return root / name
    raise DataError(f"{root} holds no {names[0]} (nor {', '.join(names[1:])}): fetch MNIST in IDX format into it.")


def load_digits(source: Source, data_dir: Path | None) -> tuple[Digits, Digits, str]:
    """Load training and test digits, from different images, and a sentence on their source."""
    if source == "digits":
        note = "Data: scikit-learn's 8×8 digits, a quarter of them for testing; MNIST: --data mnist."
        return *embedded_digits(enlarge=2), note
    if data_dir is None:
        raise DataError("MNIST is not built in; give the folder that holds its IDX files, ", Setting("data_dir"), ".")
    note = "Data: MNIST; test examples show images of its test set."
    return load_idx_digits(data_dir, "train"), load_idx_digits(data_dir, "test"), note


def divide_digits(pool: Digits, share: float, seed: int) -> list[tuple[Digits, np.random.Generator]]:
    """Hold out a ``share`` of each digit's images; return both parts, with a generator for each."""
    chance, *generators = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(3))
    held = np.zeros(len(pool.labels), dtype=np.bool_)
    for digit in np.unique(pool.labels):
        places = np.flatnonzero(pool.labels == digit)
        count = min(max(1, round(share * len(places))), len(places) - 1)  # some on both sides, where there are two
        held[chance.permutation(places)[:count]] = True
    parts = [Digits(pool.images[own], pool.labels[own]) for own in (~held, held)]
    return list(zip(parts, generators, strict=True))


def embedded_digits(enlarge: int = 1) -> tuple[Digits, Digits]:
    """Load scikit-learn's 8×8 digits for training and testing; each pixel becomes ``enlarge`` × ``enlarge`` ones."""
    images, labels = _sklearn_digits()
    grey = (images * (255 / 16)).round().astype(np.uint8).repeat(enlarge, 1).repeat(enlarge, 2)
    held_out = np.zeros(len(labels), dtype=np.bool_)
    for digit in range(10):
        held_out[np.flatnonzero(labels == digit)[TEST_EVERY - 1 :: TEST_EVERY]] = True
    return Digits(grey[~held_out], labels[~held_out]), Digits(grey[held_out], labels[held_out])


def _sklearn_digits() -> tuple[Any, Any]:
    """Read images of 0 … 16 and labels from scikit-learn's file, because importing the library is slow."""
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


def handwritten(digits: object, part: Literal["train", "test"], seed: int = 0) -> Tensor:
    """Draw a handwritten image of each wanted digit: 8×8 bytes, ink bright, ``[*digits.shape, 1, 8, 8]``.

    Images are drawn with replacement, those of ``"test"`` from the quarter that ``"train"`` never shows.

    >>> handwritten([[3, 1, 4]], "train").shape
    torch.Size([1, 3, 1, 8, 8])
    """
    digits = torch.as_tensor(digits)
    if digits.is_floating_point() or digits.numel() == 0 or not 0 <= int(digits.min()) <= int(digits.max()) <= 9:
        raise DataError(f"Images of {digits!r} were asked for; expected whole numbers from 0 to 9, at least one.")
    if part not in ("train", "test"):
        raise DataError.of({"part": part}, "expected 'train' or 'test'.")
    pool = embedded_digits()[part == "test"]
    by_label = torch.from_numpy(pool.labels.argsort(kind="stable"))
    counts = torch.from_numpy(np.bincount(pool.labels, minlength=10))
    uniform = torch.rand(digits.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    first = counts.cumsum(0) - counts
    return torch.from_numpy(pool.images[:, None])[by_label[first[digits] + (uniform * counts[digits]).long()]]
