"""No cooling: γ_t = γ₀. The paper's no-annealing reference is this at γ₀ = 0.001."""

from dataclasses import dataclass

from .base import SCHEDULES, Cooling


@dataclass(frozen=True)
class Constant(Cooling):
    """γ_t = γ₀. The floor has no effect, since nothing falls; hence its default of 0.

    >>> [Constant(0.001, warmup=1).gamma(t) for t in (0, 1, 100)]
    [inf, 0.001, 0.001]
    """

    start: float = 1.0
    floor: float = 0.0
    warmup: int = 0

    def curve(self, t: int) -> float:
        return self.start


SCHEDULES.register("constant")(lambda start, floor, warmup, epochs: Constant(start, warmup=warmup))
