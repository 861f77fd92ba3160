"""Kernels: one transition that leaves the softened grounding Q* invariant."""

from .base import ChainState, Info, Kernel
from .collapsed import Collapsed
from .composed import Composed
from .exact import Exact
from .guided import Guided
from .metropolis import Metropolis
from .uniform import Uniform

__all__ = ["ChainState", "Collapsed", "Composed", "Exact", "Guided", "Info", "Kernel", "Metropolis", "Uniform"]
