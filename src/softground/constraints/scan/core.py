r"""The most probable z of a long sum: a few sites in doubt are searched, and a bound says whether that was enough.

Site by site, the best z whose values add up to s takes n rounds over all totals. But a price θ for every unit of the
sum leaves the order of the z with that sum as it is, and with the right price the best symbol of each site, taken
alone, all but adds up to s. Relative to these, the **loss** of a value v at site i is

.. math:: \ell_i(v) = \max_u \big(\log w_i(u) + \theta u\big) - \big(\log w_i(v) + \theta v\big) \ge 0 ,

and the most probable z has the least loss in all. A reference r of nearly no loss misses s by one site's step at most.
The **core** are the sites at which leaving r costs least. All others stay as they are, and the core is searched site by
site. A z that leaves r outside the core loses at least what that costs at the cheapest of those sites. Where the z
found loses no more, it is the best there is; else the core is doubled, up to all sites. This holds for every θ and r,
but for rounding: good ones make it true at once.

References: E. Balas and E. Zemel, Oper. Res. 28 (1980); D. Pisinger, Eur. J. Oper. Res. 83 (1995).
"""

from __future__ import annotations

import torch
from torch import Tensor

from .messages import LOG_ZERO, likeliest
from .totals import Totals

CORE = 32  # sites that are searched at first
STEPS = 24  # in which the price is looked for
ROUNDING = 1e-15  # of what is added up: losses that differ by less are equal


def likeliest_sum(layers: Totals, cues: Tensor, accepts: Tensor, scores: Tensor) -> Tensor:
    """The most probable z of each example, ``[batch, n]`` in reading order, as :func:`messages.likeliest` gives it."""
    having = layers.values.expand(len(scores), -1, -1)
    worth = scores.new_full((*scores.shape[:2], int(layers.values.max()) + 1), LOG_ZERO)
    worth = worth.scatter_reduce(2, having, scores, "amax")  # of a site's values, their likeliest symbols
    taken, loss, slack = _priced(worth, accepts[:, :-1])
    other = loss.scatter(2, taken[..., None], torch.inf).amin(-1)  # what leaving the reference costs
    other, order = other.sort(1)
    left, core = accepts[:, :-1].any(1).nonzero().flatten(), CORE
    while len(left) and core < len(layers):
        found = _in_core(order[left, :core], taken[left], loss[left], accepts[left])
        cost = loss[left].gather(2, found[..., None]).sum((1, 2))
        right = accepts[left].gather(1, found.sum(1, keepdim=True)).squeeze(1)
        right &= cost <= other[left, core] + slack[left]
        taken[left[right]] = found[right]
        left, core = left[~right], 2 * core
    z = torch.where(having == taken[..., None], scores, -torch.inf).argmax(-1)
    if len(left):
        z[left] = likeliest(layers, cues[left], accepts[left], scores[left])
    return z


def _in_core(core: Tensor, taken: Tensor, loss: Tensor, accepts: Tensor) -> Tensor:
    """The best values at the sites ``core[batch, sites]``, where all others are those ``taken``: ``[batch, n]``."""
    sites, most = core.shape[1], loss.shape[2] - 1
    own = loss.gather(1, core[..., None].expand(-1, -1, most + 1))
    fixed = taken.sum(1) - taken.gather(1, core).sum(1)
    final = fixed[:, None] + torch.arange(sites * most + 2, device=core.device)  # the last is dead
    last = accepts.shape[1] - 1
    ends = accepts.gather(1, final.clamp(max=last)) & (final < last)
    ends[:, -1] = False
    layers = Totals(torch.arange(most + 1, device=core.device).expand(sites, -1), [most + 1] * sites)
    return taken.scatter(1, core, likeliest(layers, torch.zeros_like(core), ends, -own))


def _priced(worth: Tensor, accepts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Reference values ``[batch, n]``, all losses ``[batch, n, values]``, and what rounding may add to their sum.

    Where y accepts one total, the reference is near it; where it accepts several, it is what is likeliest of all.
    """
    values, wanted = torch.arange(worth.shape[2], device=worth.device), accepts.to(torch.uint8).argmax(1)
    one = accepts.sum(1) == 1
    least = torch.where(worth > LOG_ZERO / 2, worth, torch.inf).amin(-1)
    high = (worth.amax(-1) - least).amax(1).clamp(min=0) + 1.0
    low, high = torch.where(one, -high, 0.0), torch.where(one, high, 0.0)

    def best(price: Tensor) -> Tensor:
        return torch.addcmul(worth, price[:, None, None], values.to(worth.dtype)).argmax(-1)

    for _ in range(STEPS):
        price = (low + high) / 2
        total = best(price).sum(1)
        low, high = torch.where(total <= wanted, price, low), torch.where(total >= wanted, price, high)
    less, more = best(low), best(high)
    steps = (more - less).cumsum(1)
    taken = torch.where(steps <= (wanted - less.sum(1))[:, None], more, less)
    # Where one price is left at which anything changes, it is where both are worth the same.
    worths = [worth.gather(2, each[..., None]).sum((1, 2)) for each in (less, more)]
    price = torch.where(steps[:, -1] > 0, (worths[0] - worths[1]) / steps[:, -1].clamp(min=1), high)
    price = torch.where(one, price.clamp(low, high), 0.0)
    priced = torch.addcmul(worth, price[:, None, None], values.to(worth.dtype))
    loss = priced.amax(-1, keepdim=True) - priced
    size = worth.gather(2, taken[..., None]).abs().sum((1, 2)) + price.abs() * taken.sum(1)
    return taken, loss, ROUNDING * size
