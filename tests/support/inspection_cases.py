"""What the tests of the inspection share."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from softground import Categorical, Scan, Task
from softground.inspection.maps import Consistent, consistent_maps
from softground.inspection.renamings import relabellings
from softground.inspection.support import declared, everything
from softground.inverses.base import Fibre, Inverse, Start
from softground.projections.base import Dropped
from softground.walks.solutions import take
from softground.walks.time_limit import TimeLimit


def checking() -> Task:
    """Sums of four digits, by a rule that checks answers and computes none."""
    space = Categorical([range(10)] * 4)
    return Task(space, Scan(lambda total, digit, site: total + digit, space, accept=lambda total, y: total == y))


class Unlisted(Inverse):
    """An inverse that completes and starts, but cannot list S_y: what a solver looks like."""

    def __init__(self, inverse: Inverse) -> None:
        self.inverse, self.space, self.constraint = inverse, inverse.space, inverse.constraint

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        return self.inverse.fibre(z, y, dropped)

    def start(self, y: Tensor, seed: int) -> Start:
        return self.inverse.start(y, seed)


def maps_of(task: Task, given: object = None, answers: Sequence[object] | None = None) -> Consistent:
    """The maps that fit what is given to occur, or everything."""
    sample = take(task, answers, 64, 0, TimeLimit())
    full = everything(task, sample, 0)
    if given is not None:
        return consistent_maps(task, declared(task, given, sample), TimeLimit(), others=full)
    return consistent_maps(task, full, TimeLimit(), relabellings(task, sample, TimeLimit()))
