"""Inputs of mean 0 and standard deviation 1, which plain gradient descent learns from several times as fast."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..errors import DataError
from .blueprint import LAYERS


@LAYERS.register("softground.Standardise")
class Standardise(nn.Module):
    """Subtract a mean and divide by a standard deviation, of all inputs or of each feature; both are saved with it.

    >>> layer = Standardise.to_fit(torch.tensor([[0, 255], [255, 0]], dtype=torch.uint8))
    >>> layer(torch.tensor([0.0, 0.5, 1.0]))
    tensor([-1.,  0.,  1.])
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, mean: float | Tensor, deviation: float | Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", torch.as_tensor(mean))
        self.register_buffer("deviation", torch.as_tensor(deviation))

    @classmethod
    def to_fit(cls, images: Tensor) -> Standardise:
        """With one mean and one standard deviation of all pixels; bytes count as 0 … 1, as a network sees them."""
        pixels = images.double() / (1.0 if images.is_floating_point() else 255.0)
        deviation = float(pixels.std(correction=0))
        if not deviation > 0:
            raise DataError(
                f"The images' standard deviation is {deviation:g}; expected a positive number. Check whether they are "
                "all blank, or leave them as they are."
            )
        return cls(float(pixels.mean()), deviation)

    @classmethod
    def each_feature(cls, x: Tensor) -> Standardise:
        """With the mean and standard deviation of each feature of ``[..., features]``; constant features become 0."""
        rows = x.reshape(-1, x.shape[-1]).float()
        return cls(rows.mean(0), rows.std(0, correction=0).clamp(min=1e-6))

    def forward(self, x: Tensor) -> Tensor:
        return (x.to(self.mean.dtype) - self.mean) / self.deviation
