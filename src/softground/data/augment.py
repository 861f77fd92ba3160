"""Random distortions of symbol images, affine and elastic, in one batched operation on the network's device."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import DataError


@dataclass(frozen=True)
class RandomAffine:
    """Rotate, scale, shear and shift every image by its own random amount.

    Parameters
    ----------
    degrees, shear, shift
        Largest rotation in degrees, shear, and shift as a share of the image's side, in either direction.
    shrink, grow
        Largest reduction and enlargement of an image, drawn separately for width and height.
    elastic
        Standard deviation, as a share of the image's side, of a smooth local displacement: normal at ``knots`` ×
        ``knots`` points and interpolated between them (P. Simard et al., ICDAR 2003, draw it per pixel and blur it).
    """

    degrees: float = 10.0
    shrink: float = 0.1
    grow: float = 0.1
    shear: float = 0.1
    shift: float = 0.08
    elastic: float = 0.0
    knots: int = 5

    def __call__(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Distort images ``[..., channels, height, width]``; bytes become floats in 0 … 1."""
        if x.dim() < 4:
            raise DataError(
                f"Inputs of shape {tuple(x.shape)} were given to be distorted; expected a batch of images, (…, "
                "channels, height, width). Leave augment out, or give a distortion of your own."
            )
        images = x.reshape(-1, *x.shape[-3:])
        images = images if x.is_floating_point() else images.float() / 255
        draw = torch.rand(6, len(images), generator=generator, device=x.device) * 2 - 1
        angle = draw[0] * math.radians(self.degrees)
        # The grid gives the source of each pixel, so a larger square makes the symbol smaller.
        wide, high = 1 + (self.shrink - self.grow + (self.shrink + self.grow) * draw[1:3]) / 2
        cos, sin, slant = angle.cos(), angle.sin(), draw[3] * self.shear
        rows = [
            cos * wide,
            (slant * cos - sin) * high,
            draw[4] * 2 * self.shift,
            sin * wide,
            (slant * sin + cos) * high,
            draw[5] * 2 * self.shift,
        ]
        theta = torch.stack(rows, -1).view(-1, 2, 3)
        grid = torch.nn.functional.affine_grid(theta, list(images.shape), align_corners=False)
        if self.elastic:
            shape = (len(images), 2, self.knots, self.knots)
            knots = torch.randn(shape, generator=generator, device=x.device) * 2 * self.elastic
            bend = torch.nn.functional.interpolate(knots, images.shape[-2:], mode="bicubic", align_corners=True)
            grid = grid + bend.permute(0, 2, 3, 1)
        return torch.nn.functional.grid_sample(images, grid, align_corners=False).view(x.shape)
