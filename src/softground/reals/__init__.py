"""Reals: Gaussian symbols under differences and linear equations, from the space to the kernels, in one room."""

from .differences import Differences
from .equations import Conditional, Equations
from .gaussian import AddNoise, Gaussian, GaussianBelief, snap
from .gibbs import BlockGibbs, SiteGibbs
from .intervals import Intervals
from .nearest import PointMass

__all__ = ["AddNoise", "BlockGibbs", "Differences", "Gaussian", "GaussianBelief", "Intervals", "PointMass"]
__all__ += ["Conditional", "Equations", "SiteGibbs", "snap"]
