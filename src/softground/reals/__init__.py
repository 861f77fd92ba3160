"""Reals: Gaussian symbols under linear rules; all of it in one room."""

from .gaussian import AddNoise, Gaussian, GaussianBelief, snap
from .hit_and_run import HitAndRun, Interior
from .linear import Conditional, Equations, LinearRule
from .point_mass import PointMass

__all__ = ["AddNoise", "Conditional", "Equations", "Gaussian", "GaussianBelief", "HitAndRun", "Interior", "LinearRule"]
__all__ += ["PointMass", "snap"]
