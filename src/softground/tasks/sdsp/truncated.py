r"""The normal law cut to an interval: draws by inversion and means, safe far out in the tails.

For X ~ N(μ, s²) given lo ≤ X ≤ hi, with α = (lo − μ)/s and β = (hi − μ)/s,

.. math:: X = \mu + s\,\Phi^{-1}\big(\Phi(\alpha) + u\,(\Phi(\beta) - \Phi(\alpha))\big), \qquad
          E X = \mu + s\,\frac{\varphi(\alpha) - \varphi(\beta)}{\Phi(\beta) - \Phi(\alpha)} .

At low temperatures the interval may lie hundreds of s away from μ, where Φ is 0 in floating point. So everything is
done with log Φ, on the side where it is accurate (the interval is mirrored when it lies above the mean).

Reference: C. P. Robert, Simulation of truncated normal variables, Statistics and Computing 5 (1995).
"""

import math

import torch
from torch import Tensor

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
# Below this log-probability Φ⁻¹ is found by Newton's method on log Φ: exp(−708) is the smallest normal double.
NEWTON_BELOW = -600.0
# Farther out than this many s, the law is exponential to one part in a million, and the formula for the mean cancels.
FAR_TAIL = 1e3
NARROW_WIDTH = 1e-4  # in s; of narrower intervals the mean is the middle to 1e-9, and the formula cancels


def draw(uniform: Tensor, mean: Tensor, scale: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """A draw from N(mean, scale²) on [low, high] per entry, from one uniform number each."""
    a, b, mirrored = _lower_side((low - mean) / scale, (high - mean) / scale)
    log_a, log_b = torch.special.log_ndtr(a), torch.special.log_ndtr(b)
    # log of Φ(a) + u (Φ(b) − Φ(a)), with Φ(b) taken out; u = 0 would ask for −∞ on an unbounded interval.
    u = uniform.clamp(min=2.0**-54)
    level = log_b + torch.log(u + (1 - u) * (log_a - log_b).exp())
    x = _inverse_log_ndtr(level)
    x = mean + scale * torch.where(mirrored, -x, x)
    return torch.minimum(torch.maximum(x, low), high)


def mean(centre: Tensor, scale: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """E X for X ~ N(centre, scale²) on [low, high]."""
    a, b, mirrored = _lower_side((low - centre) / scale, (high - centre) / scale)
    log_a, log_b = torch.special.log_ndtr(a), torch.special.log_ndtr(b)
    mass = log_b + torch.log1p(-(log_a - log_b).exp())
    x = (_log_density(a) - mass).exp() - (_log_density(b) - mass).exp()
    width = b - a
    x = torch.where(width < NARROW_WIDTH, (a + b) / 2, x)
    # Below b < 0 the density falls at the rate −b; the mean of an exponential law cut off at the interval's width.
    rate = (-b).clamp(min=1.0)
    decay = b - 1 / rate + torch.where(torch.isinf(width), 0.0, width / torch.expm1(rate * width))
    x = torch.where((b < -FAR_TAIL) & (rate * width > NARROW_WIDTH), decay, x)
    x = torch.minimum(torch.maximum(x, a), b)
    x = centre + scale * torch.where(mirrored, -x, x)
    return torch.minimum(torch.maximum(x, low), high)


def _log_density(x: Tensor) -> Tensor:
    return -x * x / 2 - HALF_LOG_2PI


def _lower_side(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mirror intervals whose middle lies above 0, so that Φ of both ends is accurate."""
    mirrored = a + b > 0  # false for the whole line, where a + b is NaN
    return torch.where(mirrored, -b, a), torch.where(mirrored, -a, b), mirrored


def _inverse_log_ndtr(level: Tensor) -> Tensor:
    """x with log Φ(x) = level ≤ 0."""
    shallow: Tensor = torch.special.ndtri(level.clamp(min=NEWTON_BELOW).exp())
    # On a GPU the question would cost more than the answer.
    if not level.is_cuda and bool((level >= NEWTON_BELOW).all()):
        return shallow
    # log Φ(x) ≈ −x²/2 − log(−x) − log √(2π); log Φ is concave, so Newton's steps converge from here in a few.
    square = (-2 * level - 2 * HALF_LOG_2PI).clamp(min=1.0)
    x = -(square - square.log()).clamp(min=1.0).sqrt()
    for _ in range(4):
        value = torch.special.log_ndtr(x)
        x = x - (value - level) * (value - _log_density(x)).exp()
    return torch.where(level >= NEWTON_BELOW, shallow, x)
