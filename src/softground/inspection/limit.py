"""How long an inspection may take. It is asked between pieces of work, and what is not done is reported as not done."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Limit:
    """A time limit that is shared out among the parts of an inspection.

    Parameters
    ----------
    seconds
        How long, from now on; ∞ for no limit.
    clock
        Gives the time in seconds. A test may give one that counts how often it is asked.

    >>> steps = iter(range(100))
    >>> limit = Limit(3, clock=lambda: next(steps))
    >>> [limit.left() for _ in range(4)]
    [True, True, False, False]
    """

    seconds: float = math.inf
    clock: Callable[[], float] = time.monotonic
    reached: bool = False  # whether something was left out for want of time
    _end: float = field(init=False)

    def __post_init__(self) -> None:
        self._end = self.clock() + self.seconds

    def left(self) -> bool:
        """Whether there is time for another piece of work; once there is not, :attr:`reached` says so."""
        self.reached = self.reached or self.clock() >= self._end
        return not self.reached

    def part(self, share: float) -> Limit:
        """A limit for one part: ``share`` of what is left, so that no part takes the time of those after it."""
        return Limit(max(0.0, self._end - self.clock()) * share if math.isfinite(self._end) else math.inf, self.clock)
