"""Rate and distortions of ``run_softground_hwf.py`` in torch alone, for peers that are a layer and bring none.

Both are the library's own, ``softground.learner.one_cycle`` and ``softground.data.RandomAffine``; a test holds them to
it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

DEGREES, STRETCH, SHEAR, SHIFT = 10.0, 0.1, 0.1, 0.08
WARM, END = 0.2, 0.01


def one_cycle(progress: float) -> float:
    """Factor on the rate: up over the first fifth of the time, then down along a cosine."""
    if progress < WARM:
        return 0.04 + 0.96 * progress / WARM
    return END + (1 - END) * (1 + math.cos(math.pi * (progress - WARM) / (1 - WARM))) / 2


def distorted(images: Tensor, generator: torch.Generator) -> Tensor:
    """Images ``[..., 1, side, side]``, each turned, stretched, sheared and shifted by its own random amount."""
    flat = images.reshape(-1, *images.shape[-3:])
    draw = torch.rand(6, len(flat), generator=generator, device=images.device) * 2 - 1
    angle, slant = draw[0] * math.radians(DEGREES), draw[3] * SHEAR
    wide, high = (1 + STRETCH * d for d in draw[1:3])
    cos, sin = angle.cos(), angle.sin()
    across = [cos * wide, (slant * cos - sin) * high, draw[4] * 2 * SHIFT]
    down = [sin * wide, (slant * sin + cos) * high, draw[5] * 2 * SHIFT]
    theta = torch.stack([*across, *down], -1).view(-1, 2, 3)
    grid = nn.functional.affine_grid(theta, list(flat.shape), align_corners=False)
    return nn.functional.grid_sample(flat, grid, align_corners=False).view(images.shape)
