"""The embedded source: real handwritten digits of scikit-learn and operators drawn by strokes."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from ....data.examples import Split
from ....data.images import Images, resize
from ....errors import DataError
from . import strokes
from .alphabet import DIGITS, OPERATORS
from .source import TEST_FORMULAS, TRAIN_FORMULAS, Indices, Pool, held_out, random_examples

IMAGE_SIZE = 16
TEST_EVERY = 4
OPERATOR_IMAGES = {"train": 360, "test": 120}
"""Images of each operator on either side."""


def load(length: int, train_size: int | None, test_size: int | None, image_size: int | None, seed: int) -> Split:
    """Formulas of uniform symbols; the images of training and test are disjoint."""
    ink, trial, draw_train, draw_test = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(4))
    train, test = pools(image_size or IMAGE_SIZE, ink, trial)
    shown = sum(int(pool.counts[: len(DIGITS)].sum()) for pool in (train, test))
    note = (
        f"{shown} real 8x8 handwritten digits of scikit-learn's load_digits, with operators drawn by a stroke "
        "generator; training and test images are disjoint, but the same people wrote the digits of both."
    )
    return Split(
        random_examples(train, train_size or TRAIN_FORMULAS, length, draw_train),
        random_examples(test, test_size or TEST_FORMULAS, length, draw_test),
        note,
    )


def pools(image_size: int, ink: np.random.Generator, trial: np.random.Generator) -> tuple[Pool, Pool]:
    """Training and test images. Which digits are held out depends on no seed; operators are drawn afresh."""
    digits, labels = _digits()
    test = np.zeros(len(labels), dtype=np.bool_)
    for label in range(len(DIGITS)):
        places = np.flatnonzero(labels == label)
        test[places] = held_out(len(places), TEST_EVERY)
    operators_train, operators_test = _operators(ink, trial)
    return (
        _pool(digits[~test], labels[~test], operators_train, image_size),
        _pool(digits[test], labels[test], operators_test, image_size),
    )


def _digits() -> tuple[Images, Indices]:
    try:
        datasets = import_module("sklearn.datasets")
    except ImportError as error:
        raise DataError("The source 'digits' needs scikit-learn: pip install scikit-learn.") from error
    data = datasets.load_digits()
    kept = data.target > 0
    return strokes.grey(data.images[kept]), data.target[kept].astype(np.int64) - 1


def _operators(ink: np.random.Generator, trial: np.random.Generator) -> tuple[list[Images], list[Images]]:
    """For each operator its training and its test images; a test draw seen in training is left out."""
    train, test = [], []
    for operator in OPERATORS:
        seen = strokes.draw(operator, OPERATOR_IMAGES["train"], ink)
        fresh = strokes.draw(operator, OPERATOR_IMAGES["test"], trial)
        known = {image.tobytes() for image in seen}
        train.append(seen)
        test.append(fresh[[image.tobytes() not in known for image in fresh]])
    return train, test


def _pool(digits: Images, labels: Indices, operators: list[Images], image_size: int) -> Pool:
    codes = [np.full(len(images), len(DIGITS) + place, np.int64) for place, images in enumerate(operators)]
    return Pool(resize(np.concatenate([digits, *operators]), image_size), np.concatenate([labels, *codes]))
