"""Standardised images: mean 0 and standard deviation 1, whatever the images were; saved with the network."""

from __future__ import annotations

import pytest
import torch

from softground.errors import DataError
from softground.experiments import Experiment
from softground.networks import Standardise


@pytest.mark.parametrize("bytewise", [True, False])
def test_images_get_mean_0_and_deviation_1(bytewise: bool) -> None:
    images = torch.randint(0, 256, (50, 1, 6, 6), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    images = images if bytewise else images.float() / 255
    seen = Standardise.to_fit(images)(images / 255 if bytewise else images)
    assert float(seen.mean()) == pytest.approx(0, abs=1e-5)
    assert float(seen.std(correction=0)) == pytest.approx(1, abs=1e-5)


def test_blank_images_are_refused() -> None:
    with pytest.raises(DataError, match=r"standard deviation is 0; expected a positive number.*all blank"):
        Standardise.to_fit(torch.zeros(3, 1, 4, 4, dtype=torch.uint8))


def test_what_was_fitted_is_part_of_the_state() -> None:
    layer, other = Standardise(0.25, 2.0), Standardise(0.0, 1.0)
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other(torch.ones(2)), torch.full((2,), 0.375))


def test_sudoku_standardises_by_its_training_images_where_the_preset_says_so() -> None:
    given = {"train_size": 20, "test_size": 5}
    plain, fitted = Experiment.named("sudoku", **given), Experiment.named("sudoku", "paper", **given)
    assert not [module for module in plain.network.modules() if isinstance(module, Standardise)]
    layer = next(module for module in fitted.network.modules() if isinstance(module, Standardise))
    pixels = fitted.train.x.double() / 255  # type: ignore[attr-defined]
    assert float(layer.mean) == pytest.approx(float(pixels.mean()))
    assert float(layer.deviation) == pytest.approx(float(pixels.std(correction=0)))
