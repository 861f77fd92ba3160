"""Linear cooling, γ_t = γ₀ − αt."""

import math
from dataclasses import dataclass

from ..errors import ScheduleError
from .base import SCHEDULES, Cooling, Schedule


@dataclass(frozen=True)
class Linear(Cooling):
    """γ_t = γ₀ − αt.

    >>> [round(Linear(alpha=0.25).gamma(t), 3) for t in (0, 1, 2, 100)]
    [1.0, 0.75, 0.5, 0.02]
    """

    start: float = 1.0
    alpha: float = 0.01
    floor: float = 0.02
    warmup: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.alpha < math.inf:
            raise ScheduleError(f"alpha = {self.alpha}, but γ cannot rise or fall by infinity per pass. Try 0.01.")

    def curve(self, t: int) -> float:
        return self.start - self.alpha * t


@SCHEDULES.register("linear")
def _by_name(start: float, floor: float, warmup: int, epochs: int) -> Schedule:
    """The floor is reached in the last epoch."""
    return Linear(start, max(0.0, (start - floor) / max(1, epochs - 1 - warmup)), floor, warmup)
