"""The Gaussian space and the truncated normal law, against scipy and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats

from softground.errors import NonFiniteOutput, SpaceError
from softground.reals import Gaussian
from softground.reals.gaussian import GRID, snap
from softground.tasks.sdsp import truncated


def test_log_prob_is_the_sum_over_sites() -> None:
    mean, z = torch.randn(4, 3, dtype=torch.float64), torch.randn(4, 3, dtype=torch.float64)
    belief = Gaussian(3, sigma=0.7).belief(mean)
    expected = torch.distributions.Normal(mean, 0.7).log_prob(z).sum(-1)
    assert torch.allclose(belief.log_prob(z), expected)
    assert torch.allclose(belief.rows(torch.tensor([2])).log_prob(z[2:3]), expected[2:3])


@pytest.mark.parametrize("gamma", [0.1, 1.0, 7.0])
def test_tempering_scales_the_variance(gamma: float) -> None:
    mean, z = torch.randn(1, 3).expand(5, -1), torch.randn(5, 3, dtype=torch.float64)
    belief = Gaussian(3, sigma=2.0).belief(mean)
    tempered = belief.tempered(gamma)
    assert tempered.variance == pytest.approx(gamma * 4.0)
    # Up to a constant it is log P / γ.
    constant = tempered.log_prob(z) - belief.tempered(1.0).log_prob(z) / gamma
    assert torch.allclose(constant, constant[:1].expand(5))


def test_the_ends_of_the_temperature_scale() -> None:
    belief = Gaussian(2).belief(torch.tensor([[1.0, 2.0]]))
    flat = belief.tempered(math.inf)
    assert flat.log_prob(torch.tensor([[100.0, -100.0]])).item() == flat.log_prob(torch.zeros(1, 2)).item()
    assert belief.tempered(0.0).mode().tolist() == [[1.0, 2.0]]
    with pytest.raises(SpaceError):
        belief.tempered(-1.0)


def test_the_mode_is_on_the_grid_and_off_the_tape() -> None:
    mean = torch.tensor([[math.pi, -math.e]], requires_grad=True)
    belief = Gaussian(2).belief(mean)
    mode = belief.mode()
    assert not mode.requires_grad
    assert mode.dtype == torch.float64
    assert torch.equal(mode / GRID, (mode / GRID).round())
    assert float((mode - mean.detach().double()).abs().max()) <= GRID / 2
    assert not belief.detach().mean.requires_grad
    belief.marginal_log_prob(torch.tensor([[3.0, -3.0]])).sum().backward()
    assert mean.grad is not None
    assert torch.allclose(mean.grad, torch.tensor([[3.0 - math.pi, -3.0 + math.e]]))


def test_states_and_numbers() -> None:
    space = Gaussian(2)
    assert space.decode(space.encode([(1, 2.5), (0, -3)])) == [(1.0, 2.5), (0.0, -3.0)]
    with pytest.raises(SpaceError):
        space.encode([(1.0,)])
    with pytest.raises(SpaceError):
        space.belief(torch.zeros(2, 3))
    with pytest.raises(NonFiniteOutput):
        space.belief(torch.tensor([[0.0, math.nan]]))
    for bad in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(SpaceError):
            Gaussian(2, sigma=bad)
    with pytest.raises(SpaceError):
        Gaussian(0)


INTERVALS = [
    (-math.inf, math.inf),
    (-1.0, 2.0),
    (3.0, math.inf),
    (-math.inf, -3.0),
    (0.5, 0.5001),
    (6.0, 9.0),
    (-30.0, -20.0),
    (10.0, 50.0),
    (-0.1, 40.0),
    (-40.0, 0.1),
]


@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_truncated_normal_against_scipy(low: float, high: float) -> None:
    u = torch.linspace(0.001, 0.999, 99, dtype=torch.float64)
    mean, scale = torch.full_like(u, 0.3), torch.tensor(0.8, dtype=torch.float64)
    lows, highs = torch.full_like(u, low), torch.full_like(u, high)
    law = stats.truncnorm((low - 0.3) / 0.8, (high - 0.3) / 0.8, loc=0.3, scale=0.8)
    drawn = truncated.draw(u, mean, scale, lows, highs)
    # Intervals above the mean are mirrored, so that u counts from the other end.
    expected = law.ppf(1 - u.numpy() if low + high > 0.6 else u.numpy())
    assert np.allclose(drawn.numpy(), expected, rtol=1e-7, atol=1e-8)
    assert truncated.mean(mean, scale, lows, highs)[0].item() == pytest.approx(float(law.mean()), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("width", [1e-12, 1e-8, 1e-5, 0.99e-4, 1.01e-4, 1e-3])
@pytest.mark.parametrize("low", [-3.0, -0.5, 0.0, 0.3, 2.0])
def test_the_mean_of_a_narrow_interval_is_its_middle_to_second_order(low: float, width: float) -> None:
    """The density falls at the rate x around the middle m, so that E X = m − m w²/12 + O(w⁴)."""
    for scale in (1.0, 1e-3, 50.0):
        ends = [torch.tensor([scale * x], dtype=torch.float64) for x in (low, low + width)]
        one = torch.tensor([scale], dtype=torch.float64)
        found = float(truncated.mean(torch.zeros(1, dtype=torch.float64), one, *ends)) / scale
        middle = low + width / 2
        assert found == pytest.approx(middle - middle * width**2 / 12, abs=1e-10 + (3e-9 if width < 1e-4 else 0))


@pytest.mark.parametrize("far", [50.0, 1e3, 1e5])
def test_far_out_in_the_tail_the_law_is_exponential(far: float) -> None:
    """Beyond t the excess is exponential with rate t, to within 1/t²; a double holds no probability there."""
    u = torch.linspace(0.01, 0.99, 50, dtype=torch.float64)
    zero, one = torch.zeros_like(u), torch.tensor(1.0, dtype=torch.float64)
    ends = torch.full_like(u, far), torch.full_like(u, math.inf)
    excess = (truncated.draw(u, zero, one, *ends) - far) * far
    assert torch.allclose(excess, -u.log(), rtol=10 / far**2 + 1e-4, atol=1e-5)
    assert float((truncated.mean(zero, one, *ends)[0] - far) * far) == pytest.approx(1.0, abs=10 / far**2 + 1e-3)
    below = truncated.draw(u, zero, one, -ends[1], -ends[0])
    assert torch.allclose((-far - below) * far, -u.log(), rtol=10 / far**2 + 1e-4, atol=1e-5)


def test_draws_never_leave_their_interval() -> None:
    generator = torch.Generator().manual_seed(0)
    shape = (20_000,)
    low = snap(50 * torch.randn(shape, generator=generator, dtype=torch.float64))
    width = torch.rand(shape, generator=generator, dtype=torch.float64) ** 8 * 10
    high = low + snap(width)
    mean = 50 * torch.randn(shape, generator=generator, dtype=torch.float64)
    u = torch.rand(shape, generator=generator, dtype=torch.float64)
    u[:10], u[10:20] = 0.0, 1 - 2.0**-53
    for scale in (1e-3, 0.1, 3.0):
        s = torch.tensor(scale, dtype=torch.float64)
        for value in (truncated.draw(u, mean, s, low, high), truncated.mean(mean, s, low, high)):
            assert bool(((value >= low) & (value <= high)).all())
