"""HWF as one file, ``hwf.npz``: images, labels, writers and the two published lists of formulas."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ....errors import DataError
from .alphabet import SYMBOLS
from .listing import Listing, Published, checked_codes, wanted
from .source import Indices, labels_of

FILE = "hwf.npz"
PARTS = tuple(f"{side}_{part}" for side in ("train", "test") for part in ("index", "expr", "res"))
REQUIRED = ("images", "symbol_labels", *PARTS)

Arrays = dict[str, npt.NDArray[Any]]


def read(path: Path, length: int, train_size: int | None, test_size: int | None) -> Published:
    """Read the archive; every formula kept is checked against its value and its images' labels."""
    arrays = _open(path)
    images, labels = arrays["images"], arrays["symbol_labels"]
    if images.dtype != np.uint8 or images.ndim != 3 or labels.shape != images.shape[:1]:
        raise _damaged(path, f"images {images.dtype}{list(images.shape)} with {len(labels)} labels")
    labels = _labels(labels, arrays.get("alphabet"), path)
    writers = arrays.get("image_writer")
    if writers is not None and writers.shape != labels.shape:
        raise _damaged(path, f"{len(writers)} writers for {len(labels)} images")
    return Published(
        255 - images,
        _listing(arrays, "train", labels, length, train_size, path),
        _listing(arrays, "test", labels, length, test_size, path),
        labels,
        writers,
    )


def _open(path: Path) -> Arrays:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, AttributeError, TypeError, zipfile.BadZipFile, zlib.error) as error:
        raise _damaged(path, f"{type(error).__name__}: {error}") from error
    absent = [name for name in REQUIRED if name not in arrays]
    if absent:
        raise _damaged(path, f"no {', '.join(absent)} in it")
    return arrays


def _labels(labels: npt.NDArray[Any], alphabet: npt.NDArray[Any] | None, path: Path) -> Indices:
    """Labels as places in ``SYMBOLS``, through the archive's own alphabet where it has one."""
    names = [str(symbol) for symbol in SYMBOLS]
    listed = names if alphabet is None else [str(name) for name in alphabet]
    unknown = [name for name in listed if name not in names]
    if unknown or labels.min(initial=0) < 0 or labels.max(initial=0) >= len(listed):
        raise _damaged(path, f"labels outside the alphabet {' '.join(names)}")
    places: Indices = np.array([names.index(name) for name in listed], dtype=np.int64)[labels]
    return places


def _listing(arrays: Arrays, side: str, labels: Indices, length: int, size: int | None, path: Path) -> Listing:
    texts = [str(text) for text in arrays[f"{side}_expr"]]
    claims, index = arrays[f"{side}_res"], arrays[f"{side}_index"]
    if not len(texts) == len(claims) == len(index) or index.ndim != 2:
        raise _damaged(path, f"{side} lists of {len(texts)}, {len(claims)} and {len(index)} rows")
    places = wanted(texts, length, size, side, path)
    shown = index[places, :length].astype(np.int64)
    if shown.shape[1] != length or shown.min() < 0 or shown.max() >= len(labels):
        raise _damaged(path, f"{side}_index points outside the images")
    codes = np.array(
        [checked_codes(texts[place], claims[place].item(), f"{path}, {side} formula {place}") for place in places],
        dtype=np.int64,
    )
    wrong = np.flatnonzero((labels[shown] != labels_of(codes)).any(axis=1))
    if len(wrong):
        place = places[wrong[0]]
        raise _damaged(path, f"{side} formula {place}, {texts[place]!r}, points to images of other symbols")
    return Listing(shown, codes)


def _damaged(path: Path, what: str) -> DataError:
    return DataError(f"{path} is not a usable HWF archive ({what}): fetch it again, or give the original layout.")


__all__ = ["FILE", "read"]
