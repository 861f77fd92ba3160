"""Reals: Gaussian symbols under linear rules and differences; all of it in one room."""

from .differences import Differences, Intervals, PointMass
from .gaussian import AddNoise, Gaussian, GaussianBelief, snap
from .gibbs import BlockGibbs, SiteGibbs
from .hit_and_run import HitAndRun, Interior
from .linear import Conditional, Equations, LinearRule

__all__ = ["AddNoise", "BlockGibbs", "Differences", "Gaussian", "GaussianBelief", "Intervals", "PointMass"]
__all__ += ["Conditional", "Equations", "HitAndRun", "Interior", "LinearRule", "SiteGibbs", "snap"]
