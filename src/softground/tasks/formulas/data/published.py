"""HWF as published: lists of formulas (text, claimed value, images) in either of two layouts.

``hwf.npz`` holds images, labels, writers and both lists in one file. The original layout has ``expr_train.json`` and
``expr_test.json`` beside a folder of small JPGs. Files are not trusted: everything is checked, reading is bounded, and
nothing is unpickled.
"""

import json
import math
import reprlib
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ....data.images import Images, check_same_size, read_grey
from ....errors import DataError
from ....files import Unreadable, read_bounded
from .alphabet import SYMBOLS, encode, parse, value
from .source import Indices, Sizes, labels_of

SIDES = ("train", "test")
TOLERANCE = 1e-3  # relative difference allowed between a formula's exact value and the value its list claims

ARCHIVE = "hwf.npz"
UNPACKED_LIMIT = 2**30  # bytes of all arrays that are read; those of HWF have 50 million
# Every array that is read: the kinds of number or text it may hold (as numpy abbreviates them), and its dimensions.
KINDS = {"images": ("iuf", 3), "symbol_labels": ("iu", 1), "alphabet": ("U", 1), "image_writer": ("U", 1)}
for _side in SIDES:
    KINDS |= {f"{_side}_index": ("iu", 2), f"{_side}_expr": ("U", 1), f"{_side}_res": ("iuf", 1)}
OPTIONAL = ("alphabet", "image_writer")

LISTS = ("expr_train.json", "expr_test.json")
LIST_LIMIT = 2**26  # bytes; the published lists have 2 · 10⁶
IMAGE_FOLDERS = ("Handwritten_Math_Symbols", "symbol_images", ".")

Arrays = dict[str, npt.NDArray[Any]]


class NoSuchLength(DataError):
    """The lists have no formula of the wanted length."""


@dataclass(frozen=True)
class Listing:
    """Formulas of one length: row ``n`` shows ``images[index[n]]`` and means ``codes[n]``."""

    index: Indices
    codes: Indices


@dataclass(frozen=True)
class Published:
    """A published set of formulas and the images, ink bright, that they point to.

    ``labels`` (places in ``SYMBOLS``) and ``writers`` describe the images one by one, where the layout has them.
    """

    images: Images
    train: Listing
    test: Listing
    labels: Indices | None = None
    writers: npt.NDArray[np.str_] | None = None


def read_archive(path: Path, length: int, sizes: Sizes) -> Published:
    """Read ``hwf.npz``; every formula kept is checked against its claimed value and its images' labels."""
    try:
        arrays = _unpacked(path)
        images, labels = arrays["images"], arrays["symbol_labels"]
        if images.dtype != np.uint8 or 0 in images.shape or labels.shape != images.shape[:1]:
            raise ValueError(f"images {images.dtype}{list(images.shape)} with {len(labels)} labels")
        labels = _labels(labels, arrays.get("alphabet"))
        writers = arrays.get("image_writer")
        if writers is not None and writers.shape != labels.shape:
            raise ValueError(f"{len(writers)} writers for {len(labels)} images")
        train, test = (_listing(arrays, side, labels, length, n, path) for side, n in zip(SIDES, sizes, strict=True))
        return Published(255 - images, train, test, labels, writers)
    except DataError:
        raise
    except Exception as error:  # zipfile and numpy raise all kinds of errors
        what = f"{'' if type(error) is ValueError else f'{type(error).__name__}: '}{str(error)[:200]}"
        raise DataError(
            f"{path} is not a usable HWF archive ({what}): fetch it again, or give the original layout."
        ) from error


def _unpacked(path: Path) -> Arrays:
    """The arrays of ``KINDS``; whatever else the archive has stays packed."""
    with zipfile.ZipFile(path) as archive:
        packed = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        absent = [name for name in KINDS if name not in packed and name not in OPTIONAL]
        if absent:
            raise ValueError(f"no {', '.join(absent)} in it")
        size = sum(packed[name].file_size for name in KINDS if name in packed)
        if size > UNPACKED_LIMIT:
            raise ValueError(f"it unpacks into {size:,} bytes; at most {UNPACKED_LIMIT:,} are read")
        arrays = {}
        for name in KINDS.keys() & packed.keys():
            with archive.open(packed[name]) as stream:
                array = arrays[name] = np.lib.format.read_array(stream, allow_pickle=False)
                if stream.read(1):  # the checksum is compared at the end, and only there
                    raise ValueError(f"{name} goes on after its array")
            kinds, dimensions = KINDS[name]
            if array.ndim != dimensions or array.dtype.kind not in kinds:
                raise ValueError(f"{name} is {array.dtype}{list(array.shape)}")
            if array.dtype.kind == "U":
                "".join(array.tolist()).encode().decode()  # refuses code points that do not exist, unlike numpy
    return arrays


def _labels(labels: npt.NDArray[Any], alphabet: npt.NDArray[Any] | None) -> Indices:
    """Labels as places in ``SYMBOLS``, through the archive's own alphabet where it has one."""
    names = [str(symbol) for symbol in SYMBOLS]
    listed = names if alphabet is None else alphabet.tolist()
    if not set(listed) <= set(names) or labels.min(initial=0) < 0 or labels.max(initial=0) >= len(listed):
        raise ValueError(f"labels outside the alphabet {' '.join(names)}")
    return np.asarray(np.array([names.index(name) for name in listed], dtype=np.int64)[labels])


def _listing(arrays: Arrays, side: str, labels: Indices, length: int, size: int | None, path: Path) -> Listing:
    texts, claims, index = (arrays[f"{side}_{part}"] for part in ("expr", "res", "index"))
    if not len(texts) == len(claims) == len(index):
        raise ValueError(f"{side} lists of {len(texts)}, {len(claims)} and {len(index)} rows")
    places, codes = chosen(list(zip(texts.tolist(), claims.tolist(), strict=True)), length, size, side, path)
    shown = index[places, :length].astype(np.int64)
    if shown.shape[1] != length or shown.min() < 0 or shown.max() >= len(labels):
        raise ValueError(f"{side}_index points outside the images")
    wrong = np.flatnonzero((labels[shown] != labels_of(codes)).any(axis=1))
    if len(wrong):
        place = places[wrong[0]]
        raise ValueError(f"{side} formula {place}, {texts[place].item()!r}, points to images of other symbols")
    return Listing(shown, codes)


def read_original(data_dir: Path, length: int, sizes: Sizes) -> Published:
    """Read the lists of the original layout, keep formulas of the wanted length, then read the images they show."""
    sides = [
        _formulas(data_dir / file, length, size, side) for file, side, size in zip(LISTS, SIDES, sizes, strict=True)
    ]
    names = sorted({name for shown, _ in sides for row in shown for name in row})
    folder = _folder(data_dir, names[0])
    paths = [folder / name for name in names]
    images = [read_grey(path) for path in paths]
    check_same_size(paths, images, "HWF images all have one size, so fetch them again")
    place = {name: at for at, name in enumerate(names)}
    train, test = (Listing(np.array([[place[n] for n in row] for row in shown]), codes) for shown, codes in sides)
    return Published(255 - np.stack(images), train, test)


def _formulas(path: Path, length: int, size: int | None, side: str) -> tuple[list[list[str]], Indices]:
    """The names of each formula's images, and its codes."""
    if not path.is_file():
        raise DataError(f"{path} does not exist: the original layout of HWF needs {' and '.join(LISTS)}.")
    try:
        entries = json.loads(read_bounded(path, LIST_LIMIT))
    except Unreadable as error:
        raise DataError(f"{path} cannot be read ({error}): fetch it again.") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON ({error}): fetch it again.") from error
    if not isinstance(entries, list):
        raise DataError(f"{path} holds a {type(entries).__name__}, but a list of formulas is expected: fetch it again.")
    for at, entry in enumerate(entries):
        match entry:
            case {"expr": str(text), "res": _, "img_paths": list(paths)} if len(paths) == len(text):
                if all(isinstance(name, str) for name in paths):
                    continue
        raise DataError(
            f"{path}, entry {at}: a formula needs 'expr', 'res' and one path in 'img_paths' for each symbol of "
            "'expr': fetch the file again."
        )
    places, codes = chosen([(entry["expr"], entry["res"]) for entry in entries], length, size, side, path)
    return [entries[place]["img_paths"] for place in places], codes


def _folder(data_dir: Path, name: str) -> Path:
    """The folder the image paths are relative to."""
    for folder in IMAGE_FOLDERS:
        with suppress(OSError):  # a name that is too long
            if (data_dir / folder / name).is_file():
                return data_dir / folder
    tried = ", ".join(str(data_dir / folder) for folder in IMAGE_FOLDERS)
    raise DataError(f"Image {name} not found in any of {tried}: unpack the HWF images into one of them.")


def chosen(
    formulas: Sequence[tuple[str, object]], length: int, size: int | None, side: str, path: Path
) -> tuple[list[int], Indices]:
    """Places and codes of the first ``size`` formulas of a length, or of all.

    ``formulas`` are texts and claimed values; each that is chosen must have the value that its list claims.
    """
    places = [place for place, (text, _) in enumerate(formulas) if len(text) == length]
    if not places:
        lengths = ", ".join(map(str, sorted({len(text) for text, _ in formulas}))) or "none at all"
        raise NoSuchLength(f"No {side} formula of length {length} in {path}; lengths found: {lengths}.")
    if size is not None and size > len(places):
        raise DataError(
            f"{side}_size is {size} but {path} has only {len(places)} {side} formulas of length {length}: "
            f"give at most {len(places)}, or None for all."
        )
    places = places[:size]
    codes = [_checked_codes(*formulas[place], f"{path}, {side} formula {place}") for place in places]
    return places, np.array(codes, dtype=np.int64)


def _checked_codes(text: str, claimed: object, where: str) -> list[int]:
    symbols = parse(text)
    codes, exact = encode(symbols), value(symbols)
    if codes is None or exact is None:
        raise DataError(
            f"{where}: {text!r} is not a formula of digits 1-9 and operators + - * / in turn: correct or remove it."
        )
    if not _close(exact, claimed):
        raise DataError(
            f"{where}: {text!r} is {exact} (about {float(exact):.6g}) but the list claims {reprlib.repr(claimed)}; "
            "the file is damaged or uses other rules: fetch it again."
        )
    return codes


def _close(exact: Fraction, claimed: object) -> bool:
    try:
        return isinstance(claimed, int | float) and math.isclose(exact, claimed, rel_tol=TOLERANCE, abs_tol=1e-9)
    except OverflowError:  # a whole number that no float holds
        return False
