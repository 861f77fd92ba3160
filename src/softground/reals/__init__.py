"""Reals: Gaussian symbols under linear rules and differences; all of it in one room."""

from .differences import Differences
from .equations import Conditional, Equations
from .gaussian import AddNoise, Gaussian, GaussianBelief, snap
from .gibbs import BlockGibbs, SiteGibbs
from .hit_and_run import HitAndRun, Interior
from .intervals import Intervals
from .linear import LinearRule
from .nearest import PointMass

__all__ = ["AddNoise", "BlockGibbs", "Differences", "Gaussian", "GaussianBelief", "Intervals", "PointMass"]
__all__ += ["Conditional", "Equations", "HitAndRun", "Interior", "LinearRule", "SiteGibbs", "snap"]
