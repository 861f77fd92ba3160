"""Reals: Gaussian symbols under known sums; all of it in one room."""

from .equations import Conditional, Equations
from .gaussian import AddNoise, Gaussian, GaussianBelief, snap
from .point_mass import PointMass

__all__ = ["AddNoise", "Conditional", "Equations", "Gaussian", "GaussianBelief", "PointMass", "snap"]
