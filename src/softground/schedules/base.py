"""What a schedule is, and what the library's own share.

A schedule says at which temperature γ the chains walk during gradient pass t. Before cooling starts it may ask for
warm-up passes at γ = ∞, where every feasible symbol vector is equally likely.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

from ..errors import ScheduleError
from ..registry import Registry


class Schedule(ABC):
    """A temperature for each gradient pass."""

    @abstractmethod
    def gamma(self, t: int) -> float:
        """The temperature in pass ``t`` = 0, 1, 2, …; ``math.inf`` means uniform sampling."""


SCHEDULES: Registry[Callable[[float, float, int, int], Schedule]] = Registry("schedule")
"""Factories ``(start, floor, warmup, epochs) -> Schedule`` by name; the warm-up is among the epochs."""


class Cooling(Schedule):
    """γ = ∞ in the first ``warmup`` passes, then a curve that begins at ``start`` and never falls below ``floor``."""

    start: float
    floor: float
    warmup: int

    def __post_init__(self) -> None:
        if not 0 < self.start < math.inf:
            raise ScheduleError(f"start = {self.start}, but the first γ must be positive and finite. Try 1.0.")
        if not 0 <= self.floor <= self.start:
            raise ScheduleError(f"floor = {self.floor}, but it must lie between 0 and {self.start}, where γ starts.")
        if self.warmup < 0:
            raise ScheduleError(f"warmup = {self.warmup}, but a number of passes cannot be negative. Use 0 for none.")

    @abstractmethod
    def curve(self, t: int) -> float:
        """The temperature, before the floor, in pass ``t`` after the warm-up."""

    def gamma(self, t: int) -> float:
        """The temperature in pass ``t``."""
        if t < 0:
            raise ScheduleError(f"t = {t}, but passes are counted from 0. Give the number of passes already made.")
        return math.inf if t < self.warmup else max(self.floor, self.curve(t - self.warmup))
