"""Two settings of a formula run: the paper's, and the one we recommend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..options import ScheduleName

NetworkName = Literal["lenet", "convnet"]
KernelName = Literal["metropolis", "uniform", "collapsed", "guided", "exact"]


@dataclass(frozen=True)
class Preset:
    """Hyper-parameters of both stages; ``warmup`` epochs of uniform sampling (γ = ∞) are part of ``epochs``."""

    network: NetworkName
    kernel: KernelName
    steps: int  # T, kernel steps per gradient step
    schedule: ScheduleName
    gamma: float  # γ₀
    floor: float
    warmup: int
    epochs: int
    batch_size: int
    optimizer: Literal["sgd", "adamw"]
    learning_rate: float
    one_cycle: bool
    augment: bool
    keep: Literal["last", "best"]
    zero_epochs: int  # Stage II


# The paper, Appendix B.3: LeNet-5, batches of 64, SGD 0.1, T = 10, sites 3 and 5 dropped, then Adam 1e-3 for 30 epochs.
# Its 1,000 epochs count every walk over the data as one: with T = 10 they are 100 that update the network, after 10 of
# uniform sampling. The authors' code cools by 0.95 a pass, and keeps the network that did best on the training answers.
PAPER = Preset(
    network="lenet",
    kernel="metropolis",
    steps=10,
    schedule="exp",
    gamma=1.0,
    floor=0.02,
    warmup=10,
    epochs=110,
    batch_size=64,
    optimizer="sgd",
    learning_rate=0.1,
    one_cycle=False,
    augment=False,
    keep="best",
    zero_epochs=30,
)

# Length-7 formulas can be tabulated, so nothing needs to be sampled: exact marginals at γ = 1 (the semantic loss's
# gradient), no annealing, no second stage.
BEST = Preset(
    network="convnet",
    kernel="exact",
    steps=1,
    schedule="constant",
    gamma=1.0,
    floor=0.0,
    warmup=0,
    epochs=45,
    batch_size=128,
    optimizer="adamw",
    learning_rate=5e-3,
    one_cycle=True,
    augment=True,
    keep="last",
    zero_epochs=0,
)

PRESETS = {"paper": PAPER, "best": BEST}
