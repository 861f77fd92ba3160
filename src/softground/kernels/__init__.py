"""Kernels: one transition that leaves the softened grounding Q* invariant."""

from .base import ChainState, Info, Kernel
from .collapsed import Collapsed
from .composed import Composed
from .default import default_kernel
from .exact import Exact
from .exact_scan import ExactScan
from .graphed import Graphed
from .guided import Guided
from .metropolis import Metropolis
from .nearest import Nearest
from .relabel import Relabel
from .truncated_gibbs import BlockGibbs, SiteGibbs
from .uniform import Uniform

__all__ = [
    "BlockGibbs",
    "ChainState",
    "Collapsed",
    "Composed",
    "Exact",
    "ExactScan",
    "Graphed",
    "Guided",
    "Info",
    "Kernel",
    "Metropolis",
    "Nearest",
    "Relabel",
    "SiteGibbs",
    "Uniform",
    "default_kernel",
]
