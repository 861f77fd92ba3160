"""Inverses: given Π(z) = u and y, which completions exist?"""

from .base import (
    INVERSES,
    Fibre,
    Inverse,
    Start,
    complete,
    mode_by_search,
    most_probable,
    own_kernel,
    pinned,
    solutions,
    start_given,
)
from .circuit import Circuit
from .codes import Solutions
from .cpsat import CPSAT
from .enumeration import Enumeration, default_inverse
from .ladder import Budget, Choice, GivesWay, climb
from .listing import Listing
from .lists import Lists
from .rungs import RUNGS
from .scanned import Scanned
from .sets import Law, Set
from .table import Table
from .z3 import Z3

__all__ = [
    "CPSAT",
    "INVERSES",
    "RUNGS",
    "Z3",
    "Budget",
    "Choice",
    "Circuit",
    "Enumeration",
    "Fibre",
    "GivesWay",
    "Inverse",
    "Law",
    "Listing",
    "Lists",
    "Scanned",
    "Solutions",
    "Start",
    "Table",
]
__all__ += [
    "Set",
    "climb",
    "complete",
    "default_inverse",
    "mode_by_search",
    "most_probable",
    "own_kernel",
    "pinned",
    "solutions",
    "start_given",
]
