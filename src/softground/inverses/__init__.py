"""Inverses: given Π(z) = u and y, which completions exist?"""

from .base import Fibre, Inverse, Solutions, SolvingInverse, Start
from .default import default_inverse
from .enumeration import Enumeration
from .listing import Listing
from .scanned import Scanned
from .table import Table
from .z3 import Z3

__all__ = [
    "Z3",
    "Enumeration",
    "Fibre",
    "Inverse",
    "Listing",
    "Scanned",
    "Solutions",
    "SolvingInverse",
    "Start",
    "Table",
    "default_inverse",
]
