"""Inverses: given Π(z) = u and y, which completions exist?"""

from .base import INVERSES, Fibre, Inverse, Start, complete
from .circuit import Circuit
from .enumeration import Enumeration, default_inverse
from .law import Law, Solutions
from .listing import Listing
from .mixture import law_of
from .scanned import Scanned
from .table import Table
from .z3 import Z3

__all__ = [
    "INVERSES",
    "Z3",
    "Circuit",
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
__all__ += ["complete", "default_inverse", "law_of"]
