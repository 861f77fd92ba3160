"""Distortions: seeded, bounded, and the identity where nothing is asked for."""

from __future__ import annotations

import pytest
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


@pytest.mark.parametrize("name", ["degrees", "shrink", "grow", "shear", "shift", "elastic"])
def test_each_amount_acts_alone_and_on_every_image_by_itself(name: str) -> None:
    still = {"degrees": 0.0, "shrink": 0.0, "grow": 0.0, "shear": 0.0, "shift": 0.0}
    x = images()
    out = RandomAffine(**still | {name: 30.0 if name == "degrees" else 0.2})(x, torch.Generator().manual_seed(0))
    flat, before = out.flatten(0, 1), x[0, 0].float() / 255
    assert all(float((one - before).abs().max()) > 1e-3 for one in flat)
    assert all(float((one - other).abs().max()) > 1e-3 for k, one in enumerate(flat) for other in flat[:k])


def test_a_shear_moves_rows_and_keeps_their_ink() -> None:
    x = images()
    shear = RandomAffine(degrees=0, shrink=0, grow=0, shear=0.3, shift=0)(x, torch.Generator().manual_seed(0))
    ink = x.float().sum(-1) / 255
    assert torch.allclose(shear.sum(-1), ink, atol=1e-4)
    place = torch.arange(16.0)
    middle = (shear * place).sum(-1)[..., 5:11] / shear.sum(-1)[..., 5:11]
    steps = middle.diff(dim=-1)
    assert float(steps.abs().max()) > 0.05
    assert torch.allclose(steps, steps.mean(-1, keepdim=True).expand_as(steps), atol=0.02)


def test_width_and_height_are_drawn_separately() -> None:
    """Of a square: how far it moves across says nothing of how far it moves down, and so with its two sides."""
    x = torch.zeros(64, 1, 16, 16)
    x[..., 5:11, 5:11] = 1.0
    still = {"degrees": 0.0, "shrink": 0.0, "grow": 0.0, "shear": 0.0, "shift": 0.0}
    place = torch.arange(16.0)
    for name in ("shift", "shrink", "grow"):
        ink = RandomAffine(**still | {name: 0.2})(x, torch.Generator().manual_seed(0))[:, 0]
        across, down = (ink.sum(axis) / ink.sum((1, 2))[:, None] for axis in (1, 2))
        middles = [(side * place).sum(1) for side in (across, down)]
        spreads = [(side * (place - m[:, None]) ** 2).sum(1) for side, m in zip((across, down), middles, strict=True)]
        found = torch.stack(middles if name == "shift" else spreads)
        assert float(found.std(1).min()) > 0.1
        assert abs(float(torch.corrcoef(found)[0, 1])) < 0.4
