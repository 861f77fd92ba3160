"""Two settings of a Sudoku run: the paper's, and the one we recommend."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from ..preset import EXACT, Common

NetworkName = Literal["lenet", "convnet"]
KernelName = Literal["metropolis", "mcmc", "uniform", "collapsed", "guided", "kempe", "mixed", "exact"]


@dataclass(frozen=True, kw_only=True)
class Preset(Common):
    """The paper's: LeNet-5, batches of 64; the authors' code keeps the network with the most valid training boards."""

    network: NetworkName = "lenet"
    kernel: KernelName = "metropolis"
    marginals: bool = False  # whether the loss uses the kernel's marginals instead of its draws
    epochs: int | None = None  # None: as many as ``updates`` gradient steps take, and no fewer than ``least``
    updates: int = 1000
    least: int = 110
    batch_size: int = 64
    augment: bool = False
    standardise: bool = False  # whether images have mean 0 and standard deviation 1, or lie in 0 … 1
    keep: Literal["last", "best"] = "best"

    def passes(self, boards: int) -> int:
        """Epochs of Stage I for a training set of so many boards."""
        steps = math.ceil(boards / self.batch_size)
        return self.epochs or max(self.least, math.ceil(self.updates / steps))


# Some 100 passes update the network in the paper. With 50 boards that would be 100 gradient steps, after which nothing
# has been learnt yet; so at least 1,000 are taken here. The rest is from the authors' code: images of mean 0 and
# standard deviation 1, without which SGD 0.1 is too slow; γ from 0.1 to 0.02 for the mean over the 16 sites, which for
# the paper's sum is 1.6 to 0.32; and 100 epochs of Stage II, where the paper says 30. Exponential cooling reaches its
# floor in the last pass.
PAPER = Preset(gamma=1.6, floor=0.32, standardise=True, zero_epochs=100)

# The 288 boards can be listed, so Q* needs no chain, and its marginals at γ = 1 no annealing: the network's first
# weights are asymmetry enough, and within a few hundred updates all boards agree on one labelling of the digits. From
# there on it is ordinary training, and distorted images are what it needs. LeNet-5 is enough.
BEST = Preset(
    **EXACT,
    kernel="exact",
    marginals=True,
    updates=3000,
    least=125,
    batch_size=16,
    learning_rate=3e-3,
    augment=True,
    keep="last",
)

# Boards of 9×9 cannot be listed: Gibbs steps on two digits at a time, then a jump to what the network reads, which
# succeeds as γ falls. Distorted images keep the digits from coming apart here, and with 81 images a board they are not
# needed.
LARGE = replace(
    BEST,
    kernel="mixed",
    marginals=False,
    schedule="linear",
    floor=0.1,
    updates=1500,
    least=25,
    learning_rate=2e-3,
    augment=False,
)

PRESETS = {"paper": PAPER, "best": BEST}
