"""Logarithmic cooling, γ_t = γ₀ / log(1 + t): slow enough for simulated annealing's convergence proofs."""

import math
from dataclasses import dataclass

from .base import SCHEDULES, Cooling


@dataclass(frozen=True)
class Logarithmic(Cooling):
    """γ_t = min(γ₀, γ₀ / log(1 + t)), with t counted from 1 in the first pass after the warm-up.

    The paper's formula divides by zero at t = 0, and gives 1.44 γ₀ at t = 1. So the count starts at 1, and γ₀ bounds
    the temperature: the first pass has γ₀, and from the second on the formula holds as printed.

    >>> [round(Logarithmic().gamma(t), 3) for t in (0, 1, 2, 100)]
    [1.0, 0.91, 0.721, 0.216]
    """

    start: float = 1.0
    floor: float = 0.02
    warmup: int = 0

    def curve(self, t: int) -> float:
        return min(self.start, self.start / math.log(2 + t))


SCHEDULES.register("log")(lambda start, floor, warmup, epochs: Logarithmic(start, floor, warmup))
