"""Two settings of a shortest-path run: the paper's, and the one we recommend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..preset import EXACT, Common

NetworkName = Literal["mlp", "gnn"]
KernelName = Literal["metropolis", "gibbs", "blocks", "nearest"]


@dataclass(frozen=True, kw_only=True)
class Preset(Common):
    """The paper's, Section 5.3: an MLP with 128 hidden units, batches of 64.

    For the kernel gibbs ``steps`` are sweeps over all components. Stage II goes to the nearest feasible points. σ is
    not given in the paper; the margin is 0 but for what keeps S_y free of ties.
    """

    network: NetworkName = "mlp"
    relabel: bool = False  # mlp only: name the vertices anew for every graph, in training
    kernel: KernelName = "metropolis"
    marginals: bool = False  # whether the loss uses conditional means instead of draws
    sigma: float = 1.0
    margin: float = 2.0**-10  # by how much true next hops must lead in S_y
    epochs: int = 110
    batch_size: int = 64


PAPER = Preset()

# S_y is all but convex, so nothing is gained by starting warm: the nearest feasible points (γ = 0) from the first epoch
# on, with the whole margin that integer weights allow, so that the network has room to err. σ, γ and the schedule count
# only for another kernel.
BEST = Preset(**EXACT, network="gnn", kernel="nearest", marginals=True, margin=1.0, epochs=20, learning_rate=3e-3)

PRESETS = {"paper": PAPER, "best": BEST}
