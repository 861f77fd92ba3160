"""Exponential cooling, γ_t = γ₀ αᵗ: the schedule of the authors' own code, with α = 0.95 a gradient pass."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ScheduleError
from .base import check, cooled


@dataclass(frozen=True)
class Exponential:
    """γ_t = γ₀ αᵗ.

    >>> [round(Exponential(alpha=0.5).gamma(t), 3) for t in (0, 1, 2, 100)]
    [1.0, 0.5, 0.25, 0.02]
    """

    start: float = 1.0
    alpha: float = 0.95
    floor: float = 0.02
    warmup: int = 0

    def __post_init__(self) -> None:
        check(self.start, self.floor, self.warmup)
        if not 0 < self.alpha < 1:
            raise ScheduleError(f"alpha = {self.alpha}, but a cooling factor lies between 0 and 1. Try 0.95.")

    def gamma(self, t: int) -> float:
        """The temperature in pass ``t``."""
        return cooled(t, lambda k: self.start * self.alpha**k, self.floor, self.warmup)


__all__ = ["Exponential"]
