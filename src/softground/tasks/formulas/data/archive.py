"""HWF as one file, ``hwf.npz``: images, labels, writers and the two published lists of formulas."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ....errors import DataError
from .alphabet import SYMBOLS
from .listing import Listing, Published, checked_codes, wanted
from .source import Indices, labels_of

FILE = "hwf.npz"
LIMIT = 2**30
"""The most bytes that the arrays read may unpack into; those of HWF have 50 million."""

NUMBERS, WORDS = "iu", "U"
KINDS = {
    "images": ("u", 3),
    "symbol_labels": (NUMBERS, 1),
    "alphabet": (WORDS, 1),
    "image_writer": (WORDS, 1),
    **{
        f"{side}_{part}": kind
        for side in ("train", "test")
        for part, kind in (("index", (NUMBERS, 2)), ("expr", (WORDS, 1)), ("res", (NUMBERS + "f", 1)))
    },
}
"""Every array that is read: the kinds of number or text it may hold, and how many dimensions it has."""

OPTIONAL = ("alphabet", "image_writer")

Arrays = dict[str, npt.NDArray[Any]]


def read(path: Path, length: int, train_size: int | None, test_size: int | None) -> Published:
    """Read the archive; every formula kept is checked against its value and its images' labels."""
    arrays = _open(path)
    images, labels = arrays["images"], arrays["symbol_labels"]
    if images.dtype != np.uint8 or 0 in images.shape or labels.shape != images.shape[:1]:
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
    """The arrays that are known by name; whatever else the archive has stays packed."""
    try:
        with zipfile.ZipFile(path) as archive:
            packed = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            size = sum(packed[name].file_size for name in KINDS if name in packed)
            if size > LIMIT:
                raise ValueError(f"it unpacks into {size:,} bytes; at most {LIMIT:,} are read")
            arrays = {name: _array(archive, packed[name]) for name in KINDS if name in packed}
            for name, array in arrays.items():
                _check(name, array)
    except Exception as error:  # zipfile and numpy let through whatever they stumble over
        raise _damaged(path, f"{type(error).__name__}: {str(error)[:200]}") from error
    absent = [name for name in KINDS if name not in arrays and name not in OPTIONAL]
    if absent:
        raise _damaged(path, f"no {', '.join(absent)} in it")
    return arrays


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> npt.NDArray[Any]:
    with archive.open(entry) as stream:
        array = np.lib.format.read_array(stream, allow_pickle=False)
        if stream.read(1):  # the checksum is compared at the end, and only there
            raise ValueError(f"{entry.filename} goes on after its array")
    return array


def _check(name: str, array: npt.NDArray[Any]) -> None:
    kinds, dimensions = KINDS[name]
    if array.ndim != dimensions or (array.dtype.kind not in kinds and name != "images"):
        raise ValueError(f"{name} is {array.dtype}{list(array.shape)}")
    if array.dtype.kind == WORDS:
        "".join(array.tolist()).encode().decode()  # refuses code points that there are not, which numpy takes


def _labels(labels: npt.NDArray[Any], alphabet: npt.NDArray[Any] | None, path: Path) -> Indices:
    """Labels as places in ``SYMBOLS``, through the archive's own alphabet where it has one."""
    names = [str(symbol) for symbol in SYMBOLS]
    listed = names if alphabet is None else alphabet.tolist()
    unknown = [name for name in listed if name not in names]
    if unknown or labels.min(initial=0) < 0 or labels.max(initial=0) >= len(listed):
        raise _damaged(path, f"labels outside the alphabet {' '.join(names)}")
    places: Indices = np.array([names.index(name) for name in listed], dtype=np.int64)[labels]
    return places


def _listing(arrays: Arrays, side: str, labels: Indices, length: int, size: int | None, path: Path) -> Listing:
    texts: list[str] = arrays[f"{side}_expr"].tolist()
    claims, index = arrays[f"{side}_res"], arrays[f"{side}_index"]
    if not len(texts) == len(claims) == len(index):
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
