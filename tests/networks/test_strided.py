"""The small network for CPUs."""

from __future__ import annotations

import pytest
import torch

from softground.networks import strided
from softground.networks.blueprint import build, describe


@pytest.mark.parametrize("image", [(1, 8, 8), (1, 28, 28), (3, 45, 31), (1, 5, 1)])
def test_images_of_any_size_are_read(image: tuple[int, int, int]) -> None:
    network = strided(image, outputs=7).eval()
    x = torch.rand(4, *image)
    assert network(x).shape == (4, 7)
    description = describe(network)
    assert description is not None
    assert torch.equal(build(description, network.state_dict()).eval()(x), network(x))
