"""Two settings of an addition run: the paper's way of sampling, and the one we recommend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..options import ScheduleName

LONG = 20  # more digits than this are long
NetworkName = Literal["lenet", "convnet"]
KernelName = Literal["metropolis", "uniform", "collapsed", "guided", "exact"]


@dataclass(frozen=True)
class Preset:
    """Hyper-parameters; ``images`` a batch shows, whatever the numbers' length."""

    network: NetworkName
    kernel: KernelName
    steps: int  # T, kernel steps per gradient step
    marginals: bool  # whether the loss uses the kernel's marginals instead of its draws
    schedule: ScheduleName
    gamma: float  # γ₀
    floor: float
    warmup: int
    epochs: int
    images: int
    batch_size: int | None
    optimizer: Literal["sgd", "adamw"]
    learning_rate: float
    one_cycle: bool
    augment: bool
    keep: Literal["last", "best"]
    zero_epochs: int  # Stage II

    def pairs(self, digits: int) -> int:
        """Pairs of numbers in a batch."""
        return self.batch_size or max(1, self.images // (2 * digits))


# The paper does not treat addition; this is its kernel, annealing and optimiser, as for formulas. The walk changes a
# digit of the first number, and the second number is what the sum leaves.
PAPER = Preset(
    network="lenet",
    kernel="metropolis",
    steps=10,
    marginals=False,
    schedule="exp",
    gamma=1.0,
    floor=0.02,
    warmup=2,
    epochs=30,
    images=128,
    batch_size=None,
    optimizer="sgd",
    learning_rate=0.1,
    one_cycle=False,
    augment=False,
    keep="best",
    zero_epochs=10,
)

# The scan gives Q*'s marginals at γ = 1, so that nothing is sampled. Long numbers need one epoch at γ = ∞ first. To a
# column that knows no carries, adding 5 to both of its digits (modulo 10) changes nothing, so that a network that
# learns from columns alone ends, by a toss of its first weights, with every digit d read as d or as d + 5. What tells
# the two apart is the sum's first digit, the only carry that is known: one column in a hundred. At γ = ∞ this is all
# there is to learn from, and after it the toss is decided.
BEST = Preset(
    network="convnet",
    kernel="exact",
    steps=1,
    marginals=True,
    schedule="constant",
    gamma=1.0,
    floor=0.0,
    warmup=0,
    epochs=20,
    images=512,
    batch_size=None,
    optimizer="adamw",
    learning_rate=5e-3,
    one_cycle=True,
    augment=True,
    keep="last",
    zero_epochs=0,
)

PRESETS = {"paper": PAPER, "best": BEST}
