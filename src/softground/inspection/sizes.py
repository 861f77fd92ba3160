r"""\|S_y\|: counted where S_y can be summed or listed, else estimated.

With u uniform on Ω, and F(u) its fibre, \|S_y\| = \|Ω\| · E\|F(u)\|, so the mean over random u is unbiased. Where
solutions are so rare that hardly any u has a completion it says nothing, and only the number of solutions seen is
reported.
"""

import math
from dataclasses import dataclass

import torch

from ..constraints.relations import in_words
from ..errors import SoftgroundError
from ..projections.base import Dropped
from ..task import Task
from ..walks.solutions import Found
from ..walks.time_limit import TimeLimit

RANDOM = 256  # random u for an estimate
BLOCK = 1_000  # most combinations of the sites that are completed for it
FEW = 10  # u with a completion that an estimate needs


@dataclass(frozen=True)
class Size:
    """\\|S_y\\| of one answer: counted where ``exact``, else an estimate with a standard error, or None."""

    answer: str
    count: float | None
    error: float
    exact: bool
    seen: int  # solutions seen

    def __str__(self) -> str:
        if self.count is None:
            return f"unknown (too rare to estimate): {self.seen:,} seen"
        return number(self.count) if self.exact else f"{number(self.count)} ± {number(self.error)} (estimated)"


def size(task: Task, found: Found, seed: int, limit: TimeLimit) -> Size:
    """\\|S_y\\| of an answer, counted or, if there is time, estimated."""
    space, count, error = task.space, found.count, 0.0
    if count is None and space.categorical and limit.left():
        # As many of the last sites are completed as have BLOCK combinations.
        last = max((d for d in range(1, space.sites) if math.prod(space.sizes[-d:]) <= BLOCK), default=1)
        dropped = Dropped(torch.arange(space.sites - last, space.sites).expand(RANDOM, -1), shared=True)
        u, y, counts = space.random(RANDOM, torch.Generator().manual_seed(seed)), found.answers(RANDOM), []
        try:
            for rows in limit.batches(RANDOM):
                fibre = task.inverse.fibre(u[rows], y[rows], dropped.rows(rows))
                counts.append(torch.where(fibre.complete, fibre.count, torch.nan))
        except SoftgroundError:  # an inverse that cannot complete this many sites
            counts = [torch.zeros(1)]
        each = torch.cat(counts).double()
        if int((each > 0).sum()) >= FEW and not bool(each.isnan().any()):
            kept = math.prod(space.sizes[:-last])
            count, error = kept * float(each.mean()), kept * float(each.std()) / math.sqrt(len(each))
    answer = in_words(found.answer)
    short = answer if len(answer) <= 24 else f"{answer[:23]}…"
    return Size(short, count, error, found.count is not None, len(found.z))


def number(value: float) -> str:
    """A count as people write it."""
    if math.isinf(value):
        return "more than 1e308"
    return f"{value:.3g}" if value >= 1e9 or (value != int(value) and value < 1000) else f"{round(value):,}"
