"""Cosine cooling: γ falls along half a cosine.

``gamma(t)`` is the temperature of pass t = 0, 1, 2, …; ``math.inf`` means uniform sampling. The registered name stands
for a function of ``start``, ``floor``, ``warmup`` and ``epochs``, which this class already is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from softground.schedules import SCHEDULES, Schedule


@SCHEDULES.register("cosine")
@dataclass(frozen=True)
class Cosine(Schedule):
    """γ_t = floor + (start − floor) (1 + cos πs) / 2, where s goes from 0 to 1 between the warm-up and the last pass.

    >>> [round(Cosine(epochs=5).gamma(t), 3) for t in (0, 2, 4, 9)]
    [1.0, 0.51, 0.02, 0.02]
    """

    start: float = 1.0
    floor: float = 0.02
    warmup: int = 0
    epochs: int = 100

    def gamma(self, t: int) -> float:
        if t < self.warmup:
            return math.inf
        s = min(1.0, (t - self.warmup) / max(1, self.epochs - 1 - self.warmup))
        return self.floor + (self.start - self.floor) * (1 + math.cos(math.pi * s)) / 2
