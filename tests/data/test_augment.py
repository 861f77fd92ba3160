"""Distortions: seeded, bounded, and the identity where nothing is asked for."""

from __future__ import annotations

import torch

from softground.data import RandomAffine


def images() -> torch.Tensor:
    x = torch.zeros(3, 2, 1, 16, 16, dtype=torch.uint8)
    x[..., 5:11, 7:9] = 255
    return x


def test_no_distortion_is_the_identity_scaled_to_one() -> None:
    x = images()
    still = RandomAffine(degrees=0, shrink=0, grow=0, shear=0, shift=0)(x, torch.Generator().manual_seed(0))
    assert torch.allclose(still, x.float() / 255, atol=1e-5)


def test_one_generator_decides() -> None:
    distort = RandomAffine(elastic=0.05)
    a, b, c = (distort(images(), torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_every_image_gets_its_own_distortion_and_keeps_its_ink() -> None:
    x = images()
    out = RandomAffine()(x, torch.Generator().manual_seed(0))
    assert out.shape == x.shape
    flat = out.flatten(0, 1)
    assert all(not torch.equal(flat[0], other) for other in flat[1:])
    ink, before = flat.sum((1, 2, 3)), x[0, 0].float().sum() / 255
    assert bool(((ink > 0.6 * before) & (ink < 1.5 * before)).all())
    assert float(out.min()) >= 0
    assert float(out.max()) <= 1 + 1e-5


def test_shrinking_shrinks_and_growing_grows() -> None:
    x = images()
    small = RandomAffine(degrees=0, shrink=0.5, grow=0, shear=0, shift=0)(x, torch.Generator().manual_seed(0))
    large = RandomAffine(degrees=0, shrink=0, grow=0.4, shear=0, shift=0)(x, torch.Generator().manual_seed(0))
    assert float(small.sum()) < float(x.float().sum() / 255) < float(large.sum())
