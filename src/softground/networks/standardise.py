"""Images of mean 0 and standard deviation 1, which plain gradient descent learns from several times as fast."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..errors import DataError
from .blueprint import LAYERS


@LAYERS.register("softground.Standardise")
class Standardise(nn.Module):
    """Subtract one mean and divide by one standard deviation; both are saved with the network.

    >>> layer = Standardise.to_fit(torch.tensor([[0, 255], [255, 0]], dtype=torch.uint8))
    >>> layer(torch.tensor([0.0, 0.5, 1.0]))
    tensor([-1.,  0.,  1.])
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, mean: float, deviation: float) -> None:
        super().__init__()
        if not deviation > 0:
            raise DataError(
                f"The images' standard deviation is {deviation:g}; expected a positive number. Look whether they are "
                "all blank, or leave them as they are."
            )
        self.register_buffer("mean", torch.tensor(mean))
        self.register_buffer("deviation", torch.tensor(deviation))

    @classmethod
    def to_fit(cls, images: Tensor) -> Standardise:
        """With the mean and the standard deviation of these images; bytes count as 0 … 1, as a network sees them."""
        scale = 1.0 if images.is_floating_point() else 255.0
        pixels = images.double() / scale
        return cls(float(pixels.mean()), float(pixels.std(correction=0)))

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean) / self.deviation
