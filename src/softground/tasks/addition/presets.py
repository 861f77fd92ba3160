"""Two settings of an addition run: the paper's way of sampling, and the one we recommend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..preset import EXACT, Common

LONG = 20  # more digits than this are long
NetworkName = Literal["lenet", "convnet"]
KernelName = Literal["metropolis", "uniform", "collapsed", "guided", "exact"]


@dataclass(frozen=True, kw_only=True)
class Preset(Common):
    """``images`` are those that a batch shows, whatever the numbers' length."""

    network: NetworkName = "lenet"
    kernel: KernelName = "metropolis"
    marginals: bool = False  # whether the loss uses the kernel's marginals instead of its draws
    epochs: int = 30
    images: int = 128
    batch_size: int | None = None
    augment: bool = False
    keep: Literal["last", "best"] = "best"

    def pairs(self, digits: int) -> int:
        """Pairs of numbers in a batch."""
        return self.batch_size or max(1, self.images // (2 * digits))


# The paper does not treat addition; this is its kernel, annealing and optimiser, as for formulas. The walk changes a
# digit of the first number, and the second number is what the sum leaves.
PAPER = Preset(warmup=2, zero_epochs=10)

# The scan gives Q*'s marginals. Long numbers need one epoch at γ = ∞ first. To a column that knows no carries, adding 5
# to both of its digits (modulo 10) changes nothing, so that a network that learns from columns alone ends, by a toss of
# its first weights, with every digit d read as d or as d + 5. What tells the two apart is the sum's first digit, the
# only carry that is known: one column in a hundred. At γ = ∞ this is all there is to learn from, and after it the toss
# is decided.
BEST = Preset(
    **EXACT,
    network="convnet",
    kernel="exact",
    marginals=True,
    epochs=20,
    images=512,
    learning_rate=5e-3,
    augment=True,
    keep="last",
)

PRESETS = {"paper": PAPER, "best": BEST}
