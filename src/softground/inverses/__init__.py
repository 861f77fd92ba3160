"""Inverses: given Π(z) = u and y, which completions exist?"""

from .base import Fibre, Inverse, Solutions, SolvingInverse, Start
from .enumeration import Enumeration
from .table import Table

__all__ = ["Enumeration", "Fibre", "Inverse", "Solutions", "SolvingInverse", "Start", "Table"]
