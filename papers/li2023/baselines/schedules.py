r"""How γ falls in the authors' code, where that is not the printed formula.

The code counts its updates of γ as t = 1, 2, …, each made after a gradient pass, so that the first pass has γ₀.

**Logarithmic.** γ_t = γ₀ / log(1 + t) from the first update on: γ *rises* to 1.44 γ₀ once, then falls. **Linear.** Each
update of formulas subtracts 0.05/√t, with γ₀ = 1; on Sudoku t is never counted up, and each subtracts 0.01, with γ₀ =
0.1, so that the floor of 0.02 is reached in 8 of 98 passes (there ``linear-code`` is ``Linear``). **Exponential.** 0.95
a pass, as in ``Exponential``.

Reference: https://github.com/SoftWiser-group/Soften-NeSy-learning, fs_training.py in HWF and SudoKu4x4.
"""

import math
from dataclasses import dataclass

from softground.schedules import SCHEDULES, Cooling, Exponential, Linear
from softground.tasks.sudoku.problem import BOARD_SCHEDULES


@dataclass(frozen=True)
class CodeLogarithmic(Cooling):
    """γ_0 = γ₀, then γ_t = γ₀ / log(1 + t).

    >>> [round(CodeLogarithmic().gamma(t), 3) for t in (0, 1, 2, 97)]
    [1.0, 1.443, 0.91, 0.218]
    """

    start: float = 1.0
    floor: float = 0.02
    warmup: int = 0

    def curve(self, t: int) -> float:
        return self.start / math.log(1 + t) if t else self.start


@dataclass(frozen=True)
class CodeLinear(Cooling):
    r"""γ_t = γ₀ (1 − 0.05 Σ_{s ≤ t} 1/√s): it falls ever more slowly, roughly as γ₀ (1 − 0.1 √t).

    >>> [round(CodeLinear().gamma(t), 3) for t in (0, 1, 2, 97)]
    [1.0, 0.95, 0.915, 0.086]
    """

    start: float = 1.0
    floor: float = 0.02
    warmup: int = 0

    def curve(self, t: int) -> float:
        return self.start * (1 - 0.05 * math.fsum(1 / math.sqrt(s) for s in range(1, t + 1)))


SCHEDULES.register("exp-code")(lambda start, floor, warmup, epochs: Exponential(start, 0.95, floor, warmup))
SCHEDULES.register("log-code")(lambda start, floor, warmup, epochs: CodeLogarithmic(start, floor, warmup))
SCHEDULES.register("linear-code")(lambda start, floor, warmup, epochs: CodeLinear(start, floor, warmup))
BOARD_SCHEDULES["linear-code"] = lambda start, floor, warmup, epochs: Linear(start, start / 10, floor, warmup)
