"""Random affine distortions of symbol images, in one batched operation on the network's device."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class RandomAffine:
    """Rotate, scale, shear and shift every image by its own random amount.

    Parameters
    ----------
    degrees, scale, shear, shift
        Largest rotation in degrees, relative change of size, shear, and shift as a share of the image's side; each is
        drawn uniformly from minus to plus that.
    """

    degrees: float = 10.0
    scale: float = 0.1
    shear: float = 0.1
    shift: float = 0.08

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Distort images ``[..., channels, height, width]``; bytes become floats in 0 … 1."""
        images = x.reshape(-1, *x.shape[-3:])
        images = images if x.is_floating_point() else images.float() / 255
        draw = torch.rand(6, len(images), generator=generator, device=x.device) * 2 - 1
        angle = draw[0] * math.radians(self.degrees)
        wide, high = 1 + draw[1] * self.scale, 1 + draw[2] * self.scale
        cos, sin, slant = angle.cos(), angle.sin(), draw[3] * self.shear
        rows = [cos * wide, (slant * cos - sin) * high, draw[4] * 2 * self.shift,
                sin * wide, (slant * sin + cos) * high, draw[5] * 2 * self.shift]  # fmt: skip
        theta = torch.stack(rows, -1).view(-1, 2, 3)
        grid = torch.nn.functional.affine_grid(theta, list(images.shape), align_corners=False)
        return torch.nn.functional.grid_sample(images, grid, align_corners=False).view(x.shape)
