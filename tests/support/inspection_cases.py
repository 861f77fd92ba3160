"""What the tests of the inspection share."""

from __future__ import annotations

from torch import Tensor

from softground.inverses.base import Fibre, Inverse, Start


class Unlisted:
    """An inverse that completes and starts, but cannot list S_y: what a solver looks like."""

    solver_seconds = 0.0

    def __init__(self, inverse: Inverse) -> None:
        self.inverse = inverse

    def fibre(self, z: Tensor, y: Tensor, dropped: Tensor) -> Fibre:
        return self.inverse.fibre(z, y, dropped)

    def start(self, y: Tensor, seed: int) -> Start:
        return self.inverse.start(y, seed)
