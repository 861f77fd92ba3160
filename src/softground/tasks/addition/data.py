"""Pairs of handwritten numbers, in the field's standard setting: every image is used once.

The training images are shuffled and dealt out 2N at a time, 60,000/(2N) pairs of N-digit numbers from MNIST; the test
images likewise. Only the sum is known in training.

Reference: R. Manhaeve et al., DeepProbLog, NeurIPS 2018 (one and two digits; longer numbers in later work).
"""

from pathlib import Path

import numpy as np
import torch

from ...data.digits import Source, load_digits
from ...data.examples import Examples, Split
from ...data.idx import Digits
from ...errors import DataError
from .rule import sums


def load(source: Source, data_dir: Path | None, digits: int, train_size: int | None, seed: int) -> Split:
    """All pairs that the images give, or ``train_size`` training pairs."""
    train, test, note = load_digits(source, data_dir)
    first, second = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    pairs = _deal(train, digits, first)
    if train_size is not None:
        if not 1 <= train_size <= len(pairs):
            raise DataError(f"{train_size} training pairs were asked for; these images make 1 to {len(pairs):,} pairs.")
        pairs = pairs.subset(train_size)
    return Split(pairs, _deal(test, digits, second), f"{note} Every image is used once.")


def _deal(pool: Digits, digits: int, rng: np.random.Generator) -> Examples:
    count = len(pool.labels) // (2 * digits) if digits > 0 else 0
    if not count:
        raise DataError(f"{len(pool.labels):,} images do not make a pair of {digits}-digit numbers; use fewer digits.")
    order = rng.permutation(len(pool.labels))[: count * 2 * digits].reshape(count, 2 * digits)
    labels = pool.labels[order]
    x = torch.from_numpy(pool.images[order][:, :, None])
    return Examples(x, sums(labels.tolist()), torch.from_numpy(labels).long())
