r"""How large S_y is: counted where it can be, else estimated, with the error.

With u uniform on Ω, and F(u) its fibre, |S_y| = |Ω| · E|F(u)|: the mean over random u is an unbiased estimate, whose
standard error is given beside it. Where solutions are so rare that hardly any u has a completion it says nothing: then
the number of solutions seen is reported, a lower bound, and no estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from ..errors import SoftgroundError
from ..projections.base import Dropped
from ..spaces.categorical import Categorical
from ..task import Task
from .limit import Limit
from .sample import Found, Sample

DRAWS = 256  # random u per answer
BLOCK = 1_000  # most combinations of the sites that are completed
FEW = 10  # u with a completion, below which no estimate is given


@dataclass(frozen=True)
class Size:
    """\\|S_y\\| of one answer: ``count`` with standard error ``error`` (0: counted), or None."""

    answer: str
    count: float | None
    error: float
    at_least: int  # solutions seen
    why: str = ""  # why there is no count

    @property
    def exact(self) -> bool:
        """Whether it was counted."""
        return self.count is not None and self.error == 0

    def __str__(self) -> str:
        if self.count is None:
            return f"unknown ({self.why}): {self.at_least:,} seen"
        if self.exact:
            return number(self.count)
        return f"{number(self.count)} ± {number(self.error)} (estimated)"


def sizes(task: Task, sample: Sample, limit: Limit, seed: int) -> list[Size]:
    """\\|S_y\\| of every answer of the sample, as far as time allows; of those left out, how many were seen."""
    return [_size(task, found, seed) if limit.left() else _seen(found, "no time left") for found in sample.found]


def _seen(found: Found, why: str) -> Size:
    return Size(short(found.answer), found.count, 0.0, len(found.z), why)


def _size(task: Task, found: Found, seed: int) -> Size:
    space = task.space
    if found.count is not None or not space.categorical:
        return _seen(found, "" if found.count is not None else "reals")
    block = _block(space)
    kept = space.size // math.prod(space.sizes[site] for site in block)
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(DRAWS, space.sites, generator=generator, dtype=torch.float64)
    z = (uniform * space.layout(uniform.device).sizes).long()
    dropped = Dropped(torch.tensor(block).expand(DRAWS, -1), shared=True)
    try:
        fibre = task.inverse.fibre(z, found.y.expand(DRAWS, *found.y.shape[1:]), dropped)
    except SoftgroundError:  # an inverse that cannot complete so many sites
        return _seen(found, "no fibres of random u")
    count = fibre.count.double()
    if int((count > 0).sum()) < FEW or not bool(fibre.complete.all()):
        return _seen(found, "too rare to estimate")
    mean, deviation = float(count.mean()), float(count.std())
    return Size(short(found.answer), kept * mean, kept * deviation / math.sqrt(DRAWS), len(found.z))


def _block(space: Categorical) -> list[int]:
    """Sites to complete, from the last on: as many as have :data:`BLOCK` combinations."""
    block = [space.sites - 1]
    while len(block) < space.sites - 1 and space.combinations(len(block) + 1) <= BLOCK:
        block.append(space.sites - 1 - len(block))
    return sorted(block)


def number(value: float) -> str:
    """A count as people write it.

    >>> number(419904), number(6.67e21), number(12.5)
    ('419,904', '6.67e+21', '12.5')
    """
    if math.isinf(value):
        return "∞"
    return f"{value:.3g}" if value >= 1e9 or (value != int(value) and value < 1000) else f"{round(value):,}"


def short(answer: object) -> str:
    """An answer in a few characters."""
    text = str(answer)
    return text if len(text) <= 24 else text[:23] + "…"
