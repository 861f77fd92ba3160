"""Kernels: one transition that leaves the softened grounding Q* invariant."""

from .base import KERNELS, ChainState, Info, Kernel
from .collapsed import Collapsed
from .composed import Composed
from .default import default_kernel
from .direct_walk import DirectWalk
from .exact import Exact
from .exact_scan import ExactScan
from .guided import Guided
from .metropolis import Metropolis
from .uniform import Uniform

__all__ = [
    "KERNELS",
    "ChainState",
    "Collapsed",
    "Composed",
    "DirectWalk",
    "Exact",
    "ExactScan",
    "Guided",
    "Info",
    "Kernel",
    "Metropolis",
    "Uniform",
    "default_kernel",
]
