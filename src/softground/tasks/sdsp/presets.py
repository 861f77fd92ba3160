"""Two settings of a shortest-path run: the paper's, and the one we recommend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..options import ScheduleName

NetworkName = Literal["mlp", "gnn"]
KernelName = Literal["metropolis", "gibbs", "blocks", "nearest"]


@dataclass(frozen=True)
class Preset:
    """Hyper-parameters of both stages; ``warmup`` epochs of free walking (γ = ∞) are part of ``epochs``."""

    network: NetworkName
    relabel: bool  # mlp only: name the vertices anew for every graph, in training
    kernel: KernelName
    steps: int  # T, kernel steps per gradient step; sweeps over all components for gibbs
    marginals: bool  # whether the loss uses conditional means instead of draws
    sigma: float
    margin: float  # by how much true next hops must lead in S_y
    gamma: float
    schedule: ScheduleName
    floor: float
    warmup: int
    epochs: int
    batch_size: int
    optimizer: Literal["sgd", "adamw"]
    learning_rate: float
    one_cycle: bool
    zero_epochs: int  # γ = 0: nearest feasible points


# The paper, Section 5.3 and Appendix B.3: an MLP with 128 hidden units, batches of 64, SGD 0.1, T = 10, five
# components dropped, then Adam 1e-3 for 30 epochs. As for formulas, its 1,000 epochs are 100 that update the network,
# after 10 of uniform sampling, and γ falls by 0.95 a pass. σ is not given there; the margin is 0 but for what keeps
# S_y free of ties.
PAPER = Preset(
    network="mlp",
    relabel=False,
    kernel="metropolis",
    steps=10,
    marginals=False,
    sigma=1.0,
    margin=2.0**-10,
    gamma=1.0,
    schedule="exp",
    floor=0.02,
    warmup=10,
    epochs=110,
    batch_size=64,
    optimizer="sgd",
    learning_rate=0.1,
    one_cycle=False,
    zero_epochs=30,
)

# S_y is all but convex, so nothing is gained by starting warm: the nearest feasible points (γ = 0) from the first epoch
# on, with the whole margin that integer weights allow, so that the network has room to err. σ, γ and the schedule count
# only for another kernel.
BEST = Preset(
    network="gnn",
    relabel=False,
    kernel="nearest",
    steps=1,
    marginals=True,
    sigma=1.0,
    margin=1.0,
    gamma=1.0,
    schedule="constant",
    floor=0.0,
    warmup=0,
    epochs=20,
    batch_size=64,
    optimizer="adamw",
    learning_rate=3e-3,
    one_cycle=True,
    zero_epochs=0,
)

PRESETS = {"paper": PAPER, "best": BEST}
