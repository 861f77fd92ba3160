"""Two settings of a formula run: the paper's, and the one we recommend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..preset import EXACT, Common

NetworkName = Literal["lenet", "convnet"]
KernelName = Literal["metropolis", "uniform", "collapsed", "guided", "exact"]


@dataclass(frozen=True, kw_only=True)
class Preset(Common):
    """The paper's: LeNet-5, batches of 64; the authors' code keeps the network with the most right training answers."""

    network: NetworkName = "lenet"
    kernel: KernelName = "metropolis"
    epochs: int = 110
    batch_size: int = 64
    augment: bool = False
    keep: Literal["last", "best"] = "best"


PAPER = Preset()

# Length-7 formulas can be tabulated, so nothing needs to be sampled.
BEST = Preset(
    **EXACT, network="convnet", kernel="exact", epochs=45, batch_size=128, learning_rate=5e-3, augment=True, keep="last"
)

PRESETS = {"paper": PAPER, "best": BEST}
