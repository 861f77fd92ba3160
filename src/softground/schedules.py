r"""Annealing schedules: the temperature γ of each pass over the data.

A schedule gives the temperature γ of the chains in gradient pass t. It may begin with warm-up passes at γ = ∞, where
every feasible symbol vector is equally likely. Then γ falls from γ₀ to a floor:

============  =============================================  =====================================
name          γ_t, t passes after the warm-up                used by
============  =============================================  =====================================
constant      γ₀                                             the semantic loss (γ₀ = 1); the paper's NA (γ₀ = 0.001)
exp           γ₀ αᵗ                                          the authors' code, α = 0.95
linear        γ₀ − αt                                        the paper
auto          chosen by the learner before training          stages without a schedule
log           min(γ₀, γ₀ / log(2 + t))                       the paper
============  =============================================  =====================================

Your own schedule is a class with ``gamma``; register it to choose it by name.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from .errors import ScheduleError
from .registry import Registry


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


@dataclass(frozen=True)
class Constant(Cooling):
    """γ_t = γ₀. The floor has no effect, hence its default of 0.

    >>> [Constant(0.001, warmup=1).gamma(t) for t in (0, 1, 100)]
    [inf, 0.001, 0.001]
    """

    start: float = 1.0
    floor: float = 0.0
    warmup: int = 0

    def curve(self, t: int) -> float:
        return self.start


SCHEDULES.register("constant")(lambda start, floor, warmup, epochs: Constant(start, warmup=warmup))


@dataclass(frozen=True)
class Auto(Constant):
    """γ = 1, unless a learner chooses to anneal from more (:mod:`softground.learner.grounding`)."""


@SCHEDULES.register("auto")
def _auto(start: float, floor: float, warmup: int, epochs: int) -> Auto:
    if (start, warmup) != (1.0, 0):
        raise ScheduleError.of({"schedule": "auto"}, "expected no γ and no warm-up beside it: it chooses γ itself.")
    return Auto()


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
        """The schedule that reaches its floor in the last of ``epochs`` passes, which include the warm-up.

        >>> schedule = Exponential.reaching(1.6, 0.32, warmup=10, epochs=110)
        >>> [round(schedule.gamma(t), 3) for t in (10, 60, 109)]
        [1.6, 0.71, 0.32]
        """
        cls(start, floor=floor, warmup=warmup)  # checks the parameters
        if floor == 0:
            raise ScheduleError(f"floor = 0, but a factor never brings γ there. Try {0.02 * start:g}.")
        return cls(start, min(0.95, floor / start) ** (1 / max(1, epochs - 1 - warmup)), floor, warmup)

    def curve(self, t: int) -> float:
        return self.start * self.alpha**t


SCHEDULES.register("exp")(lambda start, floor, warmup, epochs: Exponential(start, floor=floor, warmup=warmup))


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


@dataclass(frozen=True)
class Logarithmic(Cooling):
    """γ_t = min(γ₀, γ₀ / log(1 + t)), with t counted from 1 in the first pass after the warm-up.

    The paper's formula divides by zero at t = 0, and gives 1.44 γ₀ at t = 1. So t starts at 1, and γ₀ bounds the
    temperature: the first pass has γ₀, and later ones follow the formula as printed.

    >>> [round(Logarithmic().gamma(t), 3) for t in (0, 1, 2, 100)]
    [1.0, 0.91, 0.721, 0.216]
    """

    start: float = 1.0
    floor: float = 0.02
    warmup: int = 0

    def curve(self, t: int) -> float:
        return min(self.start, self.start / math.log(2 + t))


SCHEDULES.register("log")(lambda start, floor, warmup, epochs: Logarithmic(start, floor, warmup))
