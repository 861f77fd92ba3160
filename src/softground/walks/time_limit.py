"""How long an inspection may take. It is asked between pieces of work, and what is not done is reported as not done."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator


class TimeLimit:
    """``seconds`` from now on, shared out among the parts of an inspection; ``clock`` gives the time.

    >>> steps = iter(range(100))
    >>> limit = TimeLimit(3, clock=lambda: next(steps))
    >>> [limit.left() for _ in range(4)]
    [True, True, False, False]
    """

    def __init__(self, seconds: float = math.inf, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock, self.end = clock, clock() + seconds
        self._over = False
        self._parts: list[TimeLimit] = []

    @property
    def reached(self) -> bool:
        """Whether something was left out for want of time, here or in a part."""
        return self._over or any(part.reached for part in self._parts)

    def left(self) -> bool:
        """Whether there is time for another piece of work; once there is not, :attr:`reached` says so."""
        return self.room(0.0)

    def room(self, seconds: float) -> bool:
        """Whether there is time for a piece of work that takes about as many ``seconds``."""
        self._over = self._over or self.clock() + seconds >= self.end
        return not self._over

    @property
    def seconds(self) -> float:
        """What is left."""
        return max(0.0, self.end - self.clock())

    def batches(self, count: int, most: int | None = None) -> Iterator[slice]:
        """The rows below ``count``, at most ``most`` together: first one, then twice as many each time, while time
        seems to be left; the first in any case.

        >>> steps = iter(range(100))
        >>> [rows.stop for rows in TimeLimit(20, clock=lambda: next(steps)).batches(1000)]
        [1, 3, 7, 15, 31, 63]
        """
        first, took = 0, 0.0
        many = most = most or count
        if math.isfinite(self.end):
            many = 1
        while first < count and (not first or self.room(2 * took)):
            began = self.clock()
            yield slice(first, min(first + many, count))
            first, many, took = first + many, min(2 * many, most), self.clock() - began

    def part(self, share: float) -> TimeLimit:
        """A limit for one part: ``share`` of what is left, so that no part takes the time of those after it."""
        self._parts.append(TimeLimit(self.seconds * share if math.isfinite(self.end) else math.inf, self.clock))
        return self._parts[-1]
