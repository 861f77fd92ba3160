"""Pairs of handwritten numbers, in the field's standard setting: every image is used once.

The training images are shuffled and dealt out 2N at a time, 60,000/(2N) pairs of N-digit numbers from MNIST; the test
images likewise. Only the sum is known in training.

Reference: R. Manhaeve et al., DeepProbLog, NeurIPS 2018 (one and two digits; longer numbers in later work).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from ...data.embedded import embedded_digits
from ...data.examples import Examples
from ...data.idx import Digits, load_idx_digits
from ...errors import DataError

Source = Literal["digits", "mnist"]


@dataclass(frozen=True)
class SumData:
    """Pairs of numbers to train and to test on: ``x`` holds uint8 images ``[pairs, 2N, 1, height, width]``."""

    train: Examples
    test: Examples
    note: str


def load(source: Source, data_dir: Path | None, digits: int, train_size: int | None, seed: int) -> SumData:
    """All pairs that the images give, or ``train_size`` training pairs."""
    if source == "mnist":
        if data_dir is None:
            raise DataError("--data mnist needs --data-dir, the folder that holds MNIST's IDX files.")
        train, test = (load_idx_digits(data_dir, part) for part in ("train", "test"))
        note = "MNIST digits, every image used once; the test pairs show images of MNIST's test set."
    else:
        train, test = embedded_digits()
        note = "Real 8×8 handwritten digits of scikit-learn's load_digits, every image used once."
    first, second = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    pairs = _deal(train, digits, first)
    if train_size is not None:
        if not 1 <= train_size <= len(pairs):
            raise DataError(f"--train-size {train_size} was given; these images make 1 to {len(pairs):,} pairs.")
        pairs = _take(pairs, train_size)
    return SumData(pairs, _deal(test, digits, second), note)


def _deal(pool: Digits, digits: int, rng: np.random.Generator) -> Examples:
    count = len(pool.labels) // (2 * digits) if digits > 0 else 0
    if not count:
        raise DataError(f"{len(pool.labels):,} images do not make a pair of {digits}-digit numbers; use fewer digits.")
    order = rng.permutation(len(pool.labels))[: count * 2 * digits].reshape(count, 2 * digits)
    labels = pool.labels[order]
    text = ["".join(map(str, row)) for row in labels.tolist()]
    totals = [int(row[:digits]) + int(row[digits:]) for row in text]
    return Examples(torch.from_numpy(pool.images[order][:, :, None]), totals, torch.from_numpy(labels).long())


def _take(pairs: Examples, count: int) -> Examples:
    symbols = None if pairs.symbols is None else pairs.symbols[:count]
    return Examples(pairs.x[:count], pairs.y[:count], symbols)
