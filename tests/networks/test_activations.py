"""Memory is checked before it is asked for: images, formulas, and a network's activations for a batch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from softground import PerSite, convnet
from softground.data import Gathered, checks
from softground.data.checks import check_activations
from softground.data.images import resize
from softground.errors import DataError
from softground.experiments import Experiment
from softground.networks import lenet


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One gigabyte of memory and no GPU."""
    monkeypatch.setattr(checks, "memory_size", lambda: 2**30)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.parametrize("image_size", [200, 1024])
def test_large_images_are_refused_in_words(image_size: int) -> None:
    with pytest.raises(DataError, match=r"(images|activations) of .* bytes .*ask for fewer or smaller"):
        Experiment.named("hwf", image_size=image_size, length=3, train_size=100, test_size=10)


def test_activations_of_a_batch_are_counted() -> None:
    x = torch.empty((200, 7, 1, 64, 64), dtype=torch.uint8)
    check_activations(PerSite(lenet((1, 64, 64), 13), (1, 64, 64)), x, 200)
    network = PerSite(convnet((1, 64, 64), 13), (1, 64, 64))
    check_activations(network, x, 16)
    with pytest.raises(DataError, match="200 examples in one batch, with activations"):
        check_activations(network, x, 200)
    assert not any(parameter.is_meta for parameter in network.parameters())


def test_images_are_not_enlarged_beyond_the_memory() -> None:
    images = np.zeros((1000, 8, 8), np.uint8)
    assert resize(images, 16).shape == (1000, 16, 16)
    with pytest.raises(DataError, match="images of 1,048,576 bytes"):
        resize(images, 1024)


def test_images_that_recur_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of 100 rows of 50 images shows 5,000, of which there are 3."""
    counted: list[int] = []
    monkeypatch.setattr(checks, "SMALL_BATCH", 1)
    monkeypatch.setattr(checks, "check_room", lambda what, count, each: counted.append(count))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    x = Gathered(torch.zeros(3, 1, 8, 8), torch.zeros(100, 50, dtype=torch.long))
    network = PerSite(lenet((1, 8, 8), 10), (1, 8, 8))
    checks.check_activations(network, x, 100)
    checks.check_activations(network, x[:2], 2)
    assert counted == [3, 2]
