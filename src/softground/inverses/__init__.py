"""Inverses: given Π(z) = u and y, which completions exist?"""

from .base import INVERSES, Fibre, Inverse, Start, complete
from .cpsat import CPSAT
from .enumeration import Enumeration, default_inverse
from .law import Law, Solutions
from .listing import Listing
from .scanned import Scanned
from .table import Table
from .z3 import Z3

__all__ = [
    "CPSAT",
    "INVERSES",
    "Z3",
    "Enumeration",
    "Fibre",
    "Inverse",
    "Law",
    "Listing",
    "Scanned",
    "Solutions",
    "Start",
    "Table",
]
__all__ += ["complete", "default_inverse"]
