"""What the tests of the inspection share."""

from __future__ import annotations

from torch import Tensor

from softground import Categorical, Scan, Task
from softground.inverses.base import Fibre, Inverse, Start
from softground.projections.base import Dropped


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
