"""Kernels: one transition of a chain on S_y. All but the paper's Metropolis leave Q* invariant."""

from .base import KERNELS, Info, Kernel
from .collapsed import Collapsed, Guided
from .composed import Composed, default_kernel
from .exact import Exact
from .metropolis import DirectWalk, Metropolis, Uniform

__all__ = [
    "KERNELS",
    "Collapsed",
    "Composed",
    "DirectWalk",
    "Exact",
    "Guided",
    "Info",
    "Kernel",
    "Metropolis",
    "Uniform",
    "default_kernel",
]
