"""A split of HWF by writer: nobody whose hand is tested has been seen in training.

In the published split most test slots show an image that also occurs in training. Here a fixed set of
writers is held out, and the published formulas are shown anew with images of the proper side.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ....errors import DataError
from .alphabet import SYMBOLS
from .listing import Published
from .source import Indices, Pool, labels_of

HELD_OUT = 0.2
UNKNOWN = frozenset({"", "unknown"})
"""Names, in lower case, that stand for no writer; HWF's source files contain both."""


@dataclass(frozen=True)
class Sides:
    """Indices of the images that may be shown in training and in test."""

    train: Indices
    test: Indices


def redraw(published: Published, seed: int) -> Published:
    """The same formulas, each symbol shown by a random image from the proper side's writers."""
    if published.writers is None or published.labels is None:
        raise DataError(
            "split='writer' needs to know who wrote each image, and this copy of HWF does not say: "
            "use hwf.npz with image_writer, or split='standard'."
        )
    sides = divide(published, published.writers, published.labels)
    train, test = published.train, published.test
    draw_train, draw_test = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    return replace(
        published,
        train=replace(train, index=_draw(published, published.labels, sides.train, train.codes, draw_train)),
        test=replace(test, index=_draw(published, published.labels, sides.test, test.codes, draw_test)),
    )


def divide(published: Published, writers: npt.NDArray[np.str_], labels: Indices) -> Sides:
    """Images of training and of held-out writers; unknown writers and shared pictures are left out."""
    known = np.array([str(writer).strip().lower() not in UNKNOWN for writer in writers])
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
    return Sides(train, test)


def held_out_writers(writers: npt.NDArray[np.str_], labels: Indices) -> list[str]:
    """About a fifth of the images of every symbol, whole writers at a time.

    Writers come in an order that depends on nothing but their names (a hash), and each is held out
    if that brings the shares of the symbols closer to a fifth. No seed, no look at the pictures.
    """
    names, row = np.unique(writers, return_inverse=True)
    counts = np.zeros((len(names), len(SYMBOLS)))
    np.add.at(counts, (row, labels), 1)
    shares = counts / np.maximum(counts.sum(axis=0), 1)
    order = sorted(range(len(names)), key=lambda at: hashlib.sha256(str(names[at]).encode()).digest())
    total, chosen = np.zeros(len(SYMBOLS)), []
    for at in order:
        if np.square(total + shares[at] - HELD_OUT).sum() < np.square(total - HELD_OUT).sum():
            total += shares[at]
            chosen.append(str(names[at]))
    return chosen


def _draw(published: Published, labels: Indices, allowed: Indices, codes: Indices, rng: np.random.Generator) -> Indices:
    pool = Pool(published.images[allowed], labels[allowed])
    return allowed[pool.draw(labels_of(codes), rng)]
