"""MNIST's IDX files, plain or gzipped.

An IDX file begins with two zero bytes, a byte for the type (8: unsigned bytes) and a byte for the number of
dimensions, then each dimension as a big-endian 32-bit whole number, then the data, the last dimension fastest.

Reference: Y. LeCun, C. Cortes, C. Burges, The MNIST database of handwritten digits.
"""

import gzip
import math
import zlib
from dataclasses import dataclass
from io import BufferedIOBase
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import DataError
from .checks import existing_folder

Bytes = npt.NDArray[np.uint8]
UNSIGNED_BYTES = 8
MOST_DIMENSIONS = 8
ANNOUNCED_LIMIT = 2**30  # bytes: twenty times MNIST
HEADER_ALLOWANCE = 2**16  # bytes that a file may be larger than twice its data
STEMS = {"train": "train", "test": "t10k"}


@dataclass(frozen=True)
class Digits:
    """Images ``[images, height, width]``, ink 255 on 0, and the digit each shows."""

    images: Bytes
    labels: Bytes


def read_idx(path: str | PathLike[str]) -> Bytes:
    """The array in an IDX file of unsigned bytes, unzipped where the name ends in ``.gz``.

    No more is read, or unzipped, than the header announces, and that is at most ``ANNOUNCED_LIMIT``.
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
    if file_size > 2 * announced + HEADER_ALLOWANCE:  # gzip would look through all that follows
        raise ValueError(f"it is far larger than the {announced:,} bytes that it announces")
    content = stream.read(announced + 1)
    if len(content) != announced:
        more = " or more" if len(content) > announced else ""
        raise ValueError(f"it announces {named} bytes but holds {len(content):,}{more}")
    return np.frombuffer(content, dtype=np.uint8).reshape(shape).copy()


def load_idx_digits(folder: str | PathLike[str], part: str) -> Digits:
    """The ``"train"`` or ``"test"`` digits of an MNIST folder (``train-images-idx3-ubyte[.gz]`` and so on)."""
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
