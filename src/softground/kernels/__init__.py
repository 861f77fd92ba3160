"""Kernels: one transition of a chain on S_y. All but the paper's Metropolis leave Q* invariant."""

from .base import KERNELS, Info, Kernel, fibre_weights, pick
from .collapsed import Collapsed
from .composed import Composed, default_kernel
from .direct_walk import DirectWalk
from .exact import Exact
from .guided import Guided
from .metropolis import Metropolis
from .several import Several
from .uniform import Uniform

__all__ = ["KERNELS", "Collapsed", "Composed", "DirectWalk", "Exact", "Guided", "Info", "Kernel", "Metropolis"]
__all__ += ["Several", "Uniform", "default_kernel", "fibre_weights", "pick"]
