"""The built-in source: real handwritten digits of scikit-learn and operators drawn by strokes."""

from functools import lru_cache

import numpy as np

from ....data.digits import embedded_digits
from ....data.examples import Split
from ....data.idx import Digits
from ....data.images import Images, resize
from . import strokes
from .alphabet import DIGITS, OPERATORS
from .source import Plan, Pool, check_formulas, random_splits

DEFAULT_IMAGE_SIZE = 16
OPERATOR_IMAGES = {"train": 360, "test": 120}  # of each operator


def load(plan: Plan, image_size: int | None, seed: int) -> list[Split]:
    """Formulas of uniform symbols; the images of training and test are disjoint.

    Which digits are held out depends on no seed; operators are drawn afresh.
    """
    side = image_size or DEFAULT_IMAGE_SIZE
    check_formulas(plan, side**2)
    rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(4)[2:]]
    train_digits, test_digits = embedded_digits()
    train_operators, test_operators = _operators(seed, *OPERATOR_IMAGES.values())
    pools = _pool(train_digits, train_operators, side), _pool(test_digits, test_operators, side)
    shown = sum(int(pool.counts[: len(DIGITS)].sum()) for pool in pools)
    note = (
        f"{shown} real 8x8 handwritten digits of scikit-learn's load_digits, with operators drawn by a stroke "
        "generator; training and test images are disjoint, but the same people wrote the digits of both."
    )
    return random_splits(pools, plan, rngs, note)


@lru_cache(maxsize=4)  # drawing takes a second; a process may load the same data again
def _operators(seed: int, to_train: int, to_test: int) -> tuple[list[Images], list[Images]]:
    """For each operator its training and its test images; a test image seen in training is left out."""
    ink, trial = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    train, test = [], []
    for operator in OPERATORS:
        seen = strokes.draw(operator, to_train, ink)
        fresh = strokes.draw(operator, to_test, trial)
        known = {image.tobytes() for image in seen}
        train.append(seen)
        test.append(fresh[[image.tobytes() not in known for image in fresh]])
    return train, test


def _pool(digits: Digits, operators: list[Images], image_size: int) -> Pool:
    formula_digits = digits.labels > 0  # a formula has no 0
    labels = [digits.labels[formula_digits].astype(np.int64) - 1]
    labels += [np.full(len(images), len(DIGITS) + place) for place, images in enumerate(operators)]
    images = np.concatenate([digits.images[formula_digits], *operators])
    return Pool(resize(images, image_size), np.concatenate(labels))
