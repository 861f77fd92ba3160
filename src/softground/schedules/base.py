"""What a schedule is, and the parts that all of them share.

A schedule answers one question: at which temperature γ do the chains walk during gradient pass t? Before
cooling starts it may ask for warm-up passes at γ = ∞, where every feasible symbol vector is equally likely.
"""

from __future__ import annotations

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


def cooled(t: int, curve: Callable[[int], float], floor: float, warmup: int) -> float:
    """``math.inf`` in the first ``warmup`` passes, then ``curve(t - warmup)``, never below ``floor``.

    >>> [cooled(t, lambda k: 1.0 - 0.4 * k, floor=0.5, warmup=1) for t in range(4)]
    [inf, 1.0, 0.6, 0.5]
    """
    if t < 0:
        raise ScheduleError(f"t = {t}, but passes are counted from 0. Give the number of passes already made.")
    return math.inf if t < warmup else max(floor, curve(t - warmup))


def check(start: float, floor: float, warmup: int) -> None:
    """Refuse parameters that no schedule can have, with a :class:`ScheduleError`."""
    if not 0 < start < math.inf:
        raise ScheduleError(f"start = {start}, but the first temperature must be positive and finite. Try 1.0.")
    if not 0 <= floor <= start:
        raise ScheduleError(f"floor = {floor}, but it must lie between 0 and start = {start}. Try {0.02 * start:g}.")
    if warmup < 0:
        raise ScheduleError(f"warmup = {warmup}, but a number of passes cannot be negative. Use 0 for none.")
