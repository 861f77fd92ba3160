"""HWF as one file, ``hwf.npz``: images, labels, writers and the two published lists of formulas."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ....errors import DataError
from .alphabet import SYMBOLS
from .listing import Listing, Published, chosen
from .source import Indices, Sizes, labels_of

FILE = "hwf.npz"
UNPACKED_LIMIT = 2**30  # bytes of all arrays that are read; those of HWF have 50 million
# Every array that is read: the kinds of number or text it may hold (as numpy abbreviates them), and its dimensions.
KINDS = {"images": ("iuf", 3), "symbol_labels": ("iu", 1), "alphabet": ("U", 1), "image_writer": ("U", 1)}
for _side in ("train", "test"):
    KINDS |= {f"{_side}_index": ("iu", 2), f"{_side}_expr": ("U", 1), f"{_side}_res": ("iuf", 1)}
OPTIONAL = ("alphabet", "image_writer")

Arrays = dict[str, npt.NDArray[Any]]


def read(path: Path, length: int, sizes: Sizes) -> Published:
    """Read the archive; every formula kept is checked against its claimed value and its images' labels."""
    arrays = _open(path)
    images, labels = arrays["images"], arrays["symbol_labels"]
    if images.dtype != np.uint8 or 0 in images.shape or labels.shape != images.shape[:1]:
        raise _damaged(path, f"images {images.dtype}{list(images.shape)} with {len(labels)} labels")
    labels = _labels(labels, arrays.get("alphabet"), path)
    writers = arrays.get("image_writer")
    if writers is not None and writers.shape != labels.shape:
        raise _damaged(path, f"{len(writers)} writers for {len(labels)} images")
    train, test = (
        _listing(arrays, side, labels, length, size, path) for side, size in zip(("train", "test"), sizes, strict=True)
    )
    return Published(255 - images, train, test, labels, writers)


def _open(path: Path) -> Arrays:
    """The arrays of ``KINDS``; whatever else the archive has stays packed."""
    try:
        with zipfile.ZipFile(path) as archive:
            packed = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            size = sum(packed[name].file_size for name in KINDS if name in packed)
            if size > UNPACKED_LIMIT:
                raise ValueError(f"it unpacks into {size:,} bytes; at most {UNPACKED_LIMIT:,} are read")
            arrays = {name: _array(archive, packed[name], *KINDS[name]) for name in KINDS if name in packed}
    except Exception as error:  # zipfile and numpy raise all kinds of errors
        raise _damaged(path, f"{type(error).__name__}: {str(error)[:200]}") from error
    absent = [name for name in KINDS if name not in arrays and name not in OPTIONAL]
    if absent:
        raise _damaged(path, f"no {', '.join(absent)} in it")
    return arrays


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, kinds: str, dimensions: int) -> npt.NDArray[Any]:
    with archive.open(entry) as stream:
        array = np.lib.format.read_array(stream, allow_pickle=False)
        if stream.read(1):  # the checksum is compared at the end, and only there
            raise ValueError(f"{entry.filename} goes on after its array")
    if array.ndim != dimensions or array.dtype.kind not in kinds:
        raise ValueError(f"{entry.filename.removesuffix('.npy')} is {array.dtype}{list(array.shape)}")
    if array.dtype.kind == "U":
        "".join(array.tolist()).encode().decode()  # refuses code points that do not exist, which numpy accepts
    return array


def _labels(labels: npt.NDArray[Any], alphabet: npt.NDArray[Any] | None, path: Path) -> Indices:
    """Labels as places in ``SYMBOLS``, through the archive's own alphabet where it has one."""
    names = [str(symbol) for symbol in SYMBOLS]
    listed = names if alphabet is None else alphabet.tolist()
    unknown = [name for name in listed if name not in names]
    if unknown or labels.min(initial=0) < 0 or labels.max(initial=0) >= len(listed):
        raise _damaged(path, f"labels outside the alphabet {' '.join(names)}")
    return np.asarray(np.array([names.index(name) for name in listed], dtype=np.int64)[labels])


def _listing(arrays: Arrays, side: str, labels: Indices, length: int, size: int | None, path: Path) -> Listing:
    texts, claims, index = (arrays[f"{side}_{part}"] for part in ("expr", "res", "index"))
    if not len(texts) == len(claims) == len(index):
        raise _damaged(path, f"{side} lists of {len(texts)}, {len(claims)} and {len(index)} rows")
    places, codes = chosen(list(zip(texts.tolist(), claims.tolist(), strict=True)), length, size, side, path)
    shown = index[places, :length].astype(np.int64)
    if shown.shape[1] != length or shown.min() < 0 or shown.max() >= len(labels):
        raise _damaged(path, f"{side}_index points outside the images")
    wrong = np.flatnonzero((labels[shown] != labels_of(codes)).any(axis=1))
    if len(wrong):
        place = places[wrong[0]]
        raise _damaged(path, f"{side} formula {place}, {texts[place].item()!r}, points to images of other symbols")
    return Listing(shown, codes)


def _damaged(path: Path, what: str) -> DataError:
    return DataError(f"{path} is not a usable HWF archive ({what}): fetch it again, or give the original layout.")
