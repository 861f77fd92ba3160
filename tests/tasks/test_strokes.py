"""Operators drawn by strokes: reproducible, varied, and told apart by a plain classifier."""

from __future__ import annotations

import numpy as np
import pytest

from softground.tasks.formulas.data import built_in
from softground.tasks.formulas.data.alphabet import OPERATORS


def sample(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    images = np.concatenate([built_in.draw(operator, count, rng) for operator in OPERATORS])
    return images.reshape(len(images), -1) / 255, np.repeat(np.arange(len(OPERATORS)), count)


@pytest.mark.parametrize("operator", OPERATORS)
def test_images_have_the_digits_format_and_are_all_different(operator: str) -> None:
    images = built_in.draw(operator, 60, np.random.default_rng(0))
    assert images.shape == (60, 8, 8)
    assert images.dtype == np.uint8
    assert len({image.tobytes() for image in images}) == 60
    levels = {round(level * 255 / 16) for level in range(17)}
    assert set(np.unique(images).tolist()) <= levels
    assert images.max() > 230
    assert np.median(images) < 128


def test_one_generator_state_gives_one_drawing() -> None:
    first, again, other = (built_in.draw("/", 20, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_divisions_are_sometimes_slashes() -> None:
    images = built_in.draw("/", 200, np.random.default_rng(0))
    corners = images[:, :4, 4:].mean(axis=(1, 2)) + images[:, 4:, :4].mean(axis=(1, 2))
    others = images[:, :4, :4].mean(axis=(1, 2)) + images[:, 4:, 4:].mean(axis=(1, 2))
    slashes = (corners > 4 * others).mean()
    assert 0.12 < slashes < 0.4


def test_operators_are_told_apart() -> None:
    from sklearn.linear_model import LogisticRegression

    train, labels = sample(150, seed=0)
    test, truth = sample(100, seed=1)
    score = LogisticRegression(max_iter=300).fit(train, labels).score(test, truth)
    assert score > 0.97
