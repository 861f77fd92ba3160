"""Reals: Gaussian symbols under difference constraints, from the space to the kernels, in one room."""

from .differences import Differences
from .gaussian import AddNoise, Gaussian, GaussianBelief, snap
from .gibbs import BlockGibbs, SiteGibbs
from .intervals import Intervals
from .nearest import PointMass

__all__ = ["AddNoise", "BlockGibbs", "Differences", "Gaussian", "GaussianBelief", "Intervals", "PointMass"]
__all__ += ["SiteGibbs", "snap"]
