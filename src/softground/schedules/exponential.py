"""Exponential cooling, γ_t = γ₀ αᵗ: the schedule of the authors' own code, with α = 0.95 per gradient pass."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ScheduleError
from .base import SCHEDULES, Cooling


@dataclass(frozen=True)
class Exponential(Cooling):
    """γ_t = γ₀ αᵗ.

    >>> [round(Exponential(alpha=0.5).gamma(t), 3) for t in (0, 1, 2, 100)]
    [1.0, 0.5, 0.25, 0.02]
    """

    start: float = 1.0
    alpha: float = 0.95
    floor: float = 0.02
    warmup: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.alpha < 1:
            raise ScheduleError(f"alpha = {self.alpha}, but a cooling factor lies between 0 and 1. Try 0.95.")

    @classmethod
    def reaching(cls, start: float, floor: float, warmup: int, epochs: int) -> Exponential:
        """The one that reaches its floor in the last of so many passes, the warm-up among them.

        >>> schedule = Exponential.reaching(1.6, 0.32, warmup=10, epochs=110)
        >>> [round(schedule.gamma(t), 3) for t in (10, 60, 109)]
        [1.6, 0.71, 0.32]
        """
        cls(start, floor=floor, warmup=warmup)  # refuses what no schedule can have
        if floor == 0:
            raise ScheduleError(f"floor = 0, but a factor never brings γ there. Try {0.02 * start:g}.")
        return cls(start, min(0.95, floor / start) ** (1 / max(1, epochs - 1 - warmup)), floor, warmup)

    def curve(self, t: int) -> float:
        return self.start * self.alpha**t


SCHEDULES.register("exp")(lambda start, floor, warmup, epochs: Exponential(start, floor=floor, warmup=warmup))
