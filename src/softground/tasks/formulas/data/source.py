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
Sizes = tuple[int | None, int | None]  # how many formulas to train and to test on; None stands for the default

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


def check_formulas(count: int, length: int, pixels: int) -> None:
    """Refuse more formulas than this machine can hold."""
    check_room("formulas", count, length * (pixels + BYTES_PER_SYMBOL))


def random_split(
    pools: tuple[Pool, Pool], sizes: Sequence[int], length: int, rngs: Sequence[np.random.Generator], note: str
) -> Split:
    """Formulas with uniform symbols to train and to test on, each symbol shown by a random image of its side's pool."""
    alphabet_sizes = np.where(np.arange(length) % 2, len(OPERATORS), len(DIGITS))

    def side(pool: Pool, count: int, rng: np.random.Generator) -> Examples:
        codes = rng.integers(0, alphabet_sizes, size=(count, length), dtype=np.int64)
        return examples(pool.images, pool.draw(labels_of(codes), rng), codes)

    train, test = map(side, pools, sizes, rngs)
    return Split(train, test, note)


def held_out(count: int, every: int) -> npt.NDArray[np.bool_]:
    """Which of ``count`` images are for testing: one in ``every``, evenly spaced, and at least one.

    No seed is involved, so a network trained under one seed and tested under another never meets its own training
    images.
    """
    mask = np.zeros(count, dtype=np.bool_)
    mask[every - 1 :: every] = True
    mask[-1] |= not mask.any()
    return mask
