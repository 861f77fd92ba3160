"""Schedules by the names that the command line uses."""

from __future__ import annotations

from ..errors import ScheduleError
from .base import Schedule
from .constant import Constant
from .exponential import Exponential
from .linear import Linear
from .logarithmic import Logarithmic

NAMES = ("log", "exp", "linear", "constant")


def by_name(
    name: str, start: float = 1.0, floor: float = 0.02, warmup: int = 0, epochs: int = 100, alpha: float | None = None
) -> Schedule:
    """The schedule called ``name`` for a run of ``epochs`` gradient passes, the warm-up among them.

    ``alpha`` is the factor of 'exp' (default 0.95) or the fall a pass of 'linear' (default: the floor is
    reached in the last pass); the other schedules have none. 'constant' ignores ``floor``.

    >>> by_name("exp", warmup=5)
    Exponential(start=1.0, alpha=0.95, floor=0.02, warmup=5)
    >>> round(by_name("linear", epochs=50).gamma(49), 6)
    0.02
    """
    if epochs < 1:
        raise ScheduleError(f"epochs = {epochs}, but a run has at least one pass. Give a positive number.")
    if alpha is not None and name in ("log", "constant"):
        raise ScheduleError(f"alpha = {alpha}, but the schedule '{name}' has no alpha. Leave it out, or use 'exp'.")
    match name:
        case "log":
            return Logarithmic(start, floor, warmup)
        case "exp":
            return Exponential(start, 0.95 if alpha is None else alpha, floor, warmup)
        case "linear":
            fall = (start - floor) / max(1, epochs - 1 - warmup)
            return Linear(start, max(0.0, fall) if alpha is None else alpha, floor, warmup)
        case "constant":
            return Constant(start, warmup=warmup)
    raise ScheduleError(f"There is no schedule '{name}'. Choose one of {', '.join(NAMES)}.")


__all__ = ["NAMES", "by_name"]
