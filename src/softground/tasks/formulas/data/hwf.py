"""HWF, the handwritten formulas of Li et al. (2020), from either layout and with either split.

In the published split most test slots show an image that also occurs in training. The split by writer holds out a fixed
set of writers and shows the published formulas anew: nobody whose hand is tested has been seen in training.
"""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ....data.examples import Split
from ....data.images import resize
from ....errors import DataError
from .alphabet import SYMBOLS
from .published import ARCHIVE, LISTS, NoSuchLength, Published, read_archive, read_original
from .source import DEFAULT_SIZES, Indices, Plan, Pool, Sizes, check_formulas, examples, labels_of, random_splits

HELD_OUT_SHARE = 0.2
PUBLISHED = 7  # symbols of the longest formulas that are published
NO_WRITER = ("", "unknown")  # names, in lower case, that HWF's source files give to writers that are not known


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
        raise DataError(
            "split='writer' needs to know who wrote each image, and this copy of HWF does not say: "
            "use hwf.npz with image_writer, or split='standard'."
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
            raise DataError(
                f"The {side} writers left no image of {SYMBOLS[int(counts.argmin())]}: too few known writers for "
                "split='writer'; use split='standard'."
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
