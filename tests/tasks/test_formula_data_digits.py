"""The embedded source, and the checks that every source shares."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from softground.data.examples import Examples
from softground.errors import DataError
from softground.tasks.formulas.data import DIGITS, OPERATORS, Split, load, value
from softground.tasks.formulas.data.source import Pool, held_out


@pytest.fixture(scope="module")
def data() -> Split:
    return load("digits", seed=0)


def pictures(examples: Examples) -> set[bytes]:
    return {image.tobytes() for image in examples.x.flatten(0, 2).numpy()}


def test_defaults(data: Split) -> None:
    assert data.train.x.shape == (3000, 7, 1, 16, 16)
    assert data.test.x.shape == (1000, 7, 1, 16, 16)
    assert data.train.x.dtype == torch.uint8
    assert data.train.x.is_contiguous()
    assert "scikit-learn" in data.note
    assert data.note.count(".") == 1


def test_ink_is_bright(data: Split) -> None:
    assert data.train.x.max() == 255
    assert data.train.x.flatten(2).float().median(dim=2).values.mean() < 60


def test_answers_are_the_exact_values_of_the_symbols(data: Split) -> None:
    for part in (data.train, data.test):
        assert part.symbols is not None
        assert part.symbols.dtype == torch.long
        for row, answer in zip(part.symbols.tolist(), part.y, strict=True):
            symbols = [OPERATORS[code] if site % 2 else DIGITS[code] for site, code in enumerate(row)]
            assert isinstance(answer, Fraction)
            assert answer == value(symbols)


def test_symbols_are_uniform(data: Split) -> None:
    assert data.train.symbols is not None
    for sites, size in ((slice(0, None, 2), 9), (slice(1, None, 2), 4)):
        share = (
            torch.bincount(data.train.symbols[:, sites].flatten(), minlength=size)
            * size
            / (3000 * (4 if size == 9 else 3))
        )
        assert len(share) == size
        assert ((share > 0.85) & (share < 1.15)).all()


def test_no_image_is_both_trained_and_tested_on(data: Split) -> None:
    assert pictures(data.train).isdisjoint(pictures(data.test))


def test_held_out_digits_stay_held_out_under_other_seeds(data: Split) -> None:
    other = load("digits", seed=1)
    digits = Examples(other.train.x[:, 0::2], other.train.y)
    assert pictures(digits).isdisjoint(pictures(data.test))


def test_seeds(data: Split) -> None:
    again, other = load("digits", seed=0), load("digits", seed=1)
    for part in ("train", "test"):
        first, second, third = (getattr(found, part) for found in (data, again, other))
        assert torch.equal(first.x, second.x)
        assert torch.equal(first.symbols, second.symbols)
        assert first.y == second.y
        assert not torch.equal(first.symbols, third.symbols)


def test_images_show_their_symbols(data: Split) -> None:
    from sklearn.linear_model import LogisticRegression

    assert data.train.symbols is not None
    assert data.test.symbols is not None
    for sites in (slice(0, 1), slice(1, 2)):
        train, test = (part.x[:600, sites].flatten(1).numpy() / 255 for part in (data.train, data.test))
        labels, truth = (found[:600, sites].flatten().numpy() for found in (data.train.symbols, data.test.symbols))
        assert LogisticRegression(max_iter=500).fit(train, labels).score(test, truth) > 0.9


@pytest.mark.parametrize("length", [1, 3, 9])
def test_other_lengths_and_sizes(length: int) -> None:
    data = load("digits", length=length, train_size=12, test_size=5, image_size=8)
    assert data.train.x.shape == (12, length, 1, 8, 8)
    assert data.test.symbols is not None
    assert data.test.symbols.shape == (5, length)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": "mnist"}, "data='mnist' was given; expected digits, hwf or folder"),
        ({"length": 4}, "length=4.*odd"),
        ({"length": -3}, "length=-3.*odd"),
        ({"length": 37}, "length=37.*at most 35"),
        ({"length": 10**15 + 1}, "at most 35"),
        ({"train_size": 10**15}, r"1\.00e\+15 formulas of .* bytes were asked for"),
        ({"test_size": 10**400}, r"1\.00e\+400 formulas"),
        ({"image_size": 10**6}, "image_size=1000000 was given; give 4 to 1,024 pixels"),
        ({"source": "hwf", "data_dir": "n" * 300}, "cannot be used"),
        ({"source": "folder", "data_dir": "~nobody-at-all"}, "'~nobody-at-all' was given, which cannot be used"),
        ({"train_size": 0}, "train_size=0"),
        ({"test_size": -1}, "test_size=-1"),
        ({"image_size": 2}, "image_size=2"),
        ({"seed": -1}, "seed=-1"),
        ({"split": "random"}, "split='random' was given; expected standard or writer"),
        ({"source": "folder", "split": "writer", "data_dir": "."}, "only hwf has them, not folder"),
        ({"source": "hwf"}, "data='hwf' was given without data_dir"),
        ({"source": "hwf", "data_dir": "/no/such/place"}, "'/no/such/place' was given, which does not exist"),
        ({"source": "folder", "data_dir": Path(__file__)}, "is a file; give the folder"),
    ],
)
def test_errors(arguments: dict[str, Any], message: str) -> None:
    call: Callable[..., Split] = load
    with pytest.raises(DataError, match=message):
        call(**{"source": "digits", **arguments})


def test_missing_scikit_learn_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sklearn", "sklearn.datasets"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(DataError, match="pip install scikit-learn"):
        load("digits")


@pytest.mark.parametrize(("count", "every", "expected"), [(2, 5, [1]), (5, 5, [4]), (10, 5, [4, 9]), (8, 4, [3, 7])])
def test_held_out(count: int, every: int, expected: list[int]) -> None:
    assert np.flatnonzero(held_out(count, every)).tolist() == expected


def test_a_pool_draws_uniformly_from_the_right_images() -> None:
    labels = np.repeat(np.arange(13), 4)[::-1].copy()
    pool = Pool(np.zeros((52, 4, 4), np.uint8), labels)
    drawn = pool.draw(np.full((2000, 2), 11), np.random.default_rng(0))
    assert set(labels[drawn].ravel()) == {11}
    assert np.bincount(drawn.ravel())[drawn.min() :].min() > 850
