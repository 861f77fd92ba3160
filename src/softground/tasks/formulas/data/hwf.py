"""HWF, the handwritten formulas of Li et al. (2020), from either layout and with either split.

**Layouts.** HWF is published as lists of formulas (text, claimed value, images). ``hwf.npz`` holds images, labels,
writers and both lists in one file. The original layout has ``expr_train.json`` and ``expr_test.json`` beside a folder
of small JPGs. Files are not trusted: everything is checked, reading is bounded, and nothing is unpickled.

In the published split most test slots show an image that also occurs in training. The split by writer holds out a fixed
set of writers and shows the published formulas anew: no writer of a test image has been seen in training.
"""

import hashlib
import json
import math
import reprlib
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ....data.examples import Split
from ....data.images import Images, check_same_size, read_grey, resize
from ....errors import DataError, Setting
from ....files import Unreadable, read_bounded
from .alphabet import SYMBOLS, encode, parse, value
from .source import DEFAULT_SIZES, Indices, Plan, Pool, Sizes, check_formulas, examples, labels_of, random_splits

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
HELD_OUT_SHARE = 0.2
PUBLISHED = 7  # symbols of the longest formulas that are published
NO_WRITER = ("", "unknown")  # names, in lower case, that HWF's source files give to writers that are not known


class NoSuchLength(DataError):
    """The lists have no formula of the wanted length."""


@dataclass(frozen=True)
class FormulaList:
    """Formulas of one length: row ``n`` shows ``images[index[n]]`` and means ``codes[n]``."""

    index: Indices
    codes: Indices


@dataclass(frozen=True)
class Published:
    """A published set of formulas and the images, ink bright, that they point to.

    ``labels`` (places in ``SYMBOLS``) and ``writers`` describe the images one by one, where the layout has them.
    """

    images: Images
    train: FormulaList
    test: FormulaList
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


def _listing(arrays: Arrays, side: str, labels: Indices, length: int, size: int | None, path: Path) -> FormulaList:
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
    return FormulaList(shown, codes)


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
    train, test = (FormulaList(np.array([[place[n] for n in row] for row in shown]), codes) for shown, codes in sides)
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
        raise DataError.of(
            {f"{side}_size": size},
            f", and {path} has only {len(places)} {side} formulas of length {length}. Give at most {len(places)}, or "
            "leave it out for all.",
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


def load(data_dir: Path, plan: Plan, image_size: int | None, split: str, seed: int) -> list[Split]:
    """The published formulas of each length; one that is not published is made of the others' images.

    Only images that are drawn anew use the seed.
    """
    found, first = {}, None
    for length, sizes in plan:
        try:
            found[length] = _read(data_dir, sizes, length, split, seed)
        except NoSuchLength as error:
            first = first or error
    if first is not None and not found and max(length for length, _ in plan) < PUBLISHED:
        raise first
    made = [(n, (a or DEFAULT_SIZES[0], b or DEFAULT_SIZES[1])) for n, (a, b) in plan if n not in found]
    whole = _read(data_dir, (None, None), next(iter(found), PUBLISHED), "standard", seed)[0] if made else None
    drawn = iter(_drawn(whole, made, image_size, split, seed) if whole else [])
    return [_split(*found[length], image_size) if length in found else next(drawn) for length, _ in plan]


def _drawn(published: Published, plan: Plan, image_size: int | None, split: str, seed: int) -> list[Split]:
    """Formulas of lengths that are not published, shown by the images that the published ones show."""
    writers, labels = published.writers, published.labels
    if labels is None:
        raise DataError(f"This copy of HWF has no formulas of length {plan[0][0]}, and does not say what images show.")
    sides = [np.unique(side.index) for side in (published.train, published.test)]
    if split == "writer" and writers is not None:
        sides = list(divide(published, writers, labels))
    images = published.images if image_size is None else resize(published.images, image_size)
    check_formulas(plan, images[0].size)
    train, test = (Pool(images[side], labels[side]) for side in sides)
    for pool in (train, test):
        if (counts := pool.counts).min() == 0:
            raise DataError(f"No image of {SYMBOLS[int(counts.argmin())]} is left to make formulas of; take more.")
    rngs = [np.random.default_rng(s) for s in np.random.SeedSequence([seed, 1]).spawn(2)]
    lengths = ", ".join(str(length) for length, _ in plan)
    return random_splits((train, test), plan, rngs, f"Formulas of length {lengths} made of HWF's images.")


def _read(data_dir: Path, sizes: Sizes, length: int, split: str, seed: int) -> tuple[Published, str]:
    """The published formulas of one length, and a sentence on them."""
    packed = data_dir / ARCHIVE
    if packed.is_file():
        published = read_archive(packed, length, sizes)
        origin = "HWF, reconstructed from CROHME strokes"
    elif any((data_dir / file).is_file() for file in LISTS):
        published = read_original(data_dir, length, sizes)
        origin = f"HWF, as found in its published layout in {data_dir.name}"
    else:
        raise DataError(f"{data_dir} holds neither {ARCHIVE} nor {' and '.join(LISTS)}: put HWF there.")
    if split == "writer":
        try:
            published = redraw(published, seed)
        except DataError as error:
            raise DataError(f"{data_dir}: {error}") from error
        remark = "published formulas shown by images of disjoint sets of writers, not the published images"
    else:
        remark = f"published split, {_overlap(published):.0%} of whose test slots show an image also used in training"
    return published, f"{origin}; {remark}."


def _split(published: Published, note: str, image_size: int | None) -> Split:
    images, sides = published.images, (published.train, published.test)
    pixels = images[0].size if image_size is None else image_size**2
    check_formulas([(sides[0].codes.shape[1], (len(sides[0].codes), len(sides[1].codes)))], pixels)
    if image_size is not None:
        images = resize(images, image_size)
    train, test = (examples(images, side.index, side.codes) for side in sides)
    return Split(train, test, note)


def _overlap(published: Published) -> float:
    """Share of test slots whose very pixels occur in training."""
    pixels = [image.tobytes() for image in published.images]
    seen = {pixels[at] for at in published.train.index.ravel()}
    slots = published.test.index.ravel()
    return sum(pixels[at] in seen for at in slots) / len(slots)


def redraw(published: Published, seed: int) -> Published:
    """The same formulas, each symbol shown by a random image from the proper side's writers."""
    writers, labels = published.writers, published.labels
    if writers is None or labels is None:
        raise DataError.of(
            {"split": "writer"},
            ", which needs to know who wrote each image, and this copy of HWF does not say. Use hwf.npz with "
            "image_writer, or ",
            Setting("split", "standard"),
            ".",
        )
    rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2)]
    listings = []
    sides = divide(published, writers, labels)
    for listing, allowed, rng in zip((published.train, published.test), sides, rngs, strict=True):
        pool = Pool(published.images[allowed], labels[allowed])
        listings.append(replace(listing, index=allowed[pool.draw(labels_of(listing.codes), rng)]))
    return replace(published, train=listings[0], test=listings[1])


def divide(published: Published, writers: npt.NDArray[np.str_], labels: Indices) -> tuple[Indices, Indices]:
    """Images of training and of held-out writers; unknown writers and shared pictures are left out."""
    known = np.array([str(writer).strip().lower() not in NO_WRITER for writer in writers])
    held = known & np.isin(writers, held_out_writers(writers[known], labels[known]))
    train = np.flatnonzero(known & ~held)
    seen = {published.images[at].tobytes() for at in train}
    test = np.array([at for at in np.flatnonzero(held) if published.images[at].tobytes() not in seen], dtype=np.int64)
    for indices, side in ((train, "training"), (test, "held-out")):
        counts = np.bincount(labels[indices], minlength=len(SYMBOLS))
        if counts.min() == 0:
            raise DataError.of(
                {"split": "writer"},
                f", and the {side} writers left no image of {SYMBOLS[int(counts.argmin())]}: too few are known. Use ",
                Setting("split", "standard"),
                ".",
            )
    return train, test


def held_out_writers(writers: npt.NDArray[np.str_], labels: Indices) -> list[str]:
    """Writers of about a fifth of the images of every symbol.

    Writers are taken in an order that depends on nothing but their names (a hash), and each is held out if that brings
    the shares of the symbols closer to a fifth. No seed is involved, and no picture is looked at.
    """
    names, row = np.unique(writers, return_inverse=True)
    counts = np.zeros((len(names), len(SYMBOLS)))
    np.add.at(counts, (row, labels), 1)
    shares = counts / np.maximum(counts.sum(axis=0), 1)
    order = sorted(range(len(names)), key=lambda at: hashlib.sha256(str(names[at]).encode()).digest())
    total, held = np.zeros(len(SYMBOLS)), []
    for at in order:
        if np.square(total + shares[at] - HELD_OUT_SHARE).sum() < np.square(total - HELD_OUT_SHARE).sum():
            total += shares[at]
            held.append(str(names[at]))
    return held
