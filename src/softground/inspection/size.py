r"""How large S_y is: counted where it can be, else estimated, with the error.

With u uniform on Ω, and F(u) its fibre, |S_y| = |Ω| · E|F(u)|: the mean over random u is an unbiased estimate, whose
standard error is given beside it. Where solutions are so rare that hardly any u has a completion it says nothing: then
the number of solutions seen is reported, a lower bound, and no estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from ..errors import SoftgroundError
from ..spaces.categorical import Categorical
from ..task import Task
from .sample import Found, Sample, random_states
from .time_limit import TimeLimit

DRAWS = 256  # random u per answer
BLOCK = 1_000  # most combinations of the sites that are completed
FEW = 10  # u with a completion, below which no estimate is given


@dataclass(frozen=True)
class Size:
    """\\|S_y\\| of one answer: counted where ``exact``, else an estimate with a standard error, or None."""

    answer: str
    count: float | None
    error: float
    exact: bool
    at_least: int  # solutions seen
    why: str = ""  # why there is no count

    def __str__(self) -> str:
        if self.count is None:
            return f"unknown ({self.why}): {self.at_least:,} seen"
        return number(self.count) if self.exact else f"{number(self.count)} ± {number(self.error)} (estimated)"


def sizes(task: Task, sample: Sample, limit: TimeLimit, seed: int) -> tuple[Size, ...]:
    """\\|S_y\\| of every answer of the sample, as far as time allows; of those left out, how many were seen."""
    return tuple(_size(task, f, seed) if limit.left() else _seen(f, "no time left") for f in sample.found)


def _seen(found: Found, why: str) -> Size:
    text = str(found.answer)
    short = text if len(text) <= 24 else text[:23] + "…"
    return Size(short, found.count, 0.0, found.count is not None, len(found.z), why)


def _size(task: Task, found: Found, seed: int) -> Size:
    space = task.space
    if found.count is not None or not isinstance(space, Categorical):
        return _seen(found, "" if found.count is not None else "reals")
    # As many of the last sites are completed as have BLOCK combinations.
    last = max((d for d in range(1, space.sites) if math.prod(space.sizes[-d:]) <= BLOCK), default=1)
    sites = torch.arange(space.sites - last, space.sites).expand(DRAWS, -1)
    z = random_states(space, DRAWS, torch.Generator().manual_seed(seed))
    try:
        fibre = task.inverse.fibre(z, found.y.expand(DRAWS, *found.y.shape[1:]), sites)
    except SoftgroundError:  # an inverse that cannot complete so many sites
        return _seen(found, "no fibres of random u")
    count = fibre.count.double()
    if int((count > 0).sum()) < FEW or not bool(fibre.complete.all()):
        return _seen(found, "too rare to estimate")
    kept = math.prod(space.sizes[:-last])
    mean, error = float(count.mean()), float(count.std()) / math.sqrt(DRAWS)
    return replace(_seen(found, ""), count=kept * mean, error=kept * error)


def number(value: float) -> str:
    """A count as people write it.

    >>> number(419904), number(6.67e21), number(12.5)
    ('419,904', '6.67e+21', '12.5')
    """
    if math.isinf(value):
        return "∞"
    return f"{value:.3g}" if value >= 1e9 or (value != int(value) and value < 1000) else f"{round(value):,}"
