"""What the sources share: a pool of labelled images, and formulas made from it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from ....data.checks import check_room
from ....data.examples import Examples, Split
from ....data.images import Images
from .alphabet import DIGITS, OPERATORS, SYMBOLS, decode, value

Indices = npt.NDArray[np.int64]
Sizes = tuple[int | None, int | None]  # how many formulas to train and to test on; None stands for all there are
Plan = Sequence[tuple[int, Sizes]]  # the lengths that are wanted, and how many of each

DEFAULT_SIZES = (3000, 1000)
BYTES_PER_SYMBOL = 32  # beside its image: codes and places, and a share of the formula's value


@dataclass(frozen=True)
class Pool:
    """Images ``[images, height, width]`` of every symbol and, for each, the place of its symbol in ``SYMBOLS``."""

    images: Images
    labels: Indices

    @property
    def counts(self) -> Indices:
        """How many images each symbol has."""
        return np.bincount(self.labels, minlength=len(SYMBOLS))

    def draw(self, labels: Indices, rng: np.random.Generator) -> Indices:
        """For each wanted label the index of an image of it, uniformly and with replacement."""
        counts = self.counts
        first = np.cumsum(counts) - counts
        by_label = np.argsort(self.labels, kind="stable")
        return np.asarray(by_label[first[labels] + rng.integers(0, counts[labels])])


def labels_of(codes: Indices) -> Indices:
    """Codes ``[formulas, sites]`` as places in ``SYMBOLS``."""
    labels = codes.copy()
    labels[:, 1::2] += len(DIGITS)
    return labels


def examples(images: Images, index: Indices, codes: Indices) -> Examples:
    """Formulas whose site ``s`` of row ``n`` shows ``images[index[n, s]]`` and means ``codes[n, s]``."""
    answers = [value(decode(row)) for row in codes.tolist()]
    return Examples(torch.from_numpy(images[index][:, :, None]), answers, torch.from_numpy(codes))


def check_formulas(plan: Plan, pixels: int) -> None:
    """Refuse more formulas than this machine can hold."""
    symbols = sum(length * sum(size or 0 for size in sizes) for length, sizes in plan)
    count = sum(size or 0 for _, sizes in plan for size in sizes)
    check_room("formulas", count, -(-symbols // max(1, count)) * (pixels + BYTES_PER_SYMBOL))


def random_splits(pools: tuple[Pool, Pool], plan: Plan, rngs: Sequence[np.random.Generator], note: str) -> list[Split]:
    """For each length formulas with uniform symbols, each shown by a random image of its side's pool."""

    def side(pool: Pool, length: int, count: int, rng: np.random.Generator) -> Examples:
        sizes = np.where(np.arange(length) % 2, len(OPERATORS), len(DIGITS))
        codes = rng.integers(0, sizes, size=(count, length), dtype=np.int64)
        return examples(pool.images, pool.draw(labels_of(codes), rng), codes)

    splits = []
    for length, counts in plan:
        train, test = (side(p, length, n or 0, rng) for p, n, rng in zip(pools, counts, rngs, strict=True))
        splits.append(Split(train, test, note))
    return splits


def held_out(count: int, every: int) -> npt.NDArray[np.bool_]:
    """Which of ``count`` images are for testing: one in ``every``, evenly spaced, and at least one.

    No seed is involved, so a network trained under one seed and tested under another never meets its own training
    images.
    """
    mask = np.zeros(count, dtype=np.bool_)
    mask[every - 1 :: every] = True
    mask[-1] |= not mask.any()
    return mask
