"""MNIST's IDX files, plain or gzipped.

An IDX file begins with two zero bytes, a byte for the type (8: unsigned bytes) and a byte for the number of
dimensions, then each dimension as a big-endian 32-bit whole number, then the data, the last dimension fastest.

Reference: Y. LeCun, C. Cortes, C. Burges, The MNIST database of handwritten digits.
"""

from __future__ import annotations

import gzip
import math
import zlib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import DataError

Bytes = npt.NDArray[np.uint8]
UNSIGNED_BYTES = 8
STEMS = {"train": "train", "test": "t10k"}


@dataclass(frozen=True)
class Digits:
    """Images ``[images, height, width]``, ink 255 on 0, and the digit each shows."""

    images: Bytes
    labels: Bytes


def read_idx(path: str | PathLike[str]) -> Bytes:
    """The array in an IDX file of unsigned bytes; a file whose name ends in ``.gz`` is unzipped."""
    path = Path(path)
    try:
        raw = path.read_bytes()
        content = gzip.decompress(raw) if path.suffix == ".gz" else raw
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read ({error}): fetch it again.") from error
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != UNSIGNED_BYTES or content[3] == 0:
        raise DataError(
            f"{path} does not begin like an IDX file of unsigned bytes (0, 0, 8, dimensions) "
            f"but with {list(content[:4])}: give MNIST's own files, gzipped ones under a name that ends in .gz."
        )
    header = 4 + 4 * content[3]
    if len(content) < header:
        raise DataError(f"{path} ends inside its header, after {len(content)} bytes: fetch it again.")
    shape = np.frombuffer(content, dtype=">u4", count=content[3], offset=4).tolist()
    if len(content) - header != math.prod(shape):
        raise DataError(
            f"{path} announces {' × '.join(map(str, shape))} bytes but holds {len(content) - header:,}: fetch it again."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape).copy()


def load_idx_digits(folder: str | PathLike[str], part: str) -> Digits:
    """The ``"train"`` or ``"test"`` digits of an MNIST folder (``train-images-idx3-ubyte[.gz]`` and so on)."""
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise DataError(f"data_dir {root} is not a folder; give the one that holds MNIST's IDX files.")
    stem = STEMS[part]
    images = read_idx(_find(root, f"{stem}-images", "idx3-ubyte"))
    labels = read_idx(_find(root, f"{stem}-labels", "idx1-ubyte"))
    if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
        raise DataError(
            f"The {part} files in {root} have shapes {images.shape} and {labels.shape}; expected images "
            "(count, height, width) and as many labels (count,)."
        )
    return Digits(images, labels)


def _find(root: Path, stem: str, kind: str) -> Path:
    names = [f"{stem}{mark}{kind}{suffix}" for mark in "-." for suffix in (".gz", "")]
    for name in names:
        if (root / name).is_file():
            return root / name
    raise DataError(f"{root} holds no {names[0]} (nor {', '.join(names[1:])}): fetch MNIST in IDX format into it.")


__all__ = ["Digits", "load_idx_digits", "read_idx"]
