"""Constraints: which symbol vectors are feasible for an answer."""

from .base import Constraint, Part
from .cnf import Cnf
from .cpmpy import CPMpy
from .pieces import All, AllDifferent, Allowed, Clause, Count, Increasing, Sum, Value
from .program import Program
from .relations import Between, Contains, Not, OneOf
from .scan import Scan
from .smt import SMT

__all__ = [
    "SMT",
    "All",
    "AllDifferent",
    "Allowed",
    "Between",
    "CPMpy",
    "Clause",
    "Cnf",
    "Constraint",
    "Contains",
    "Count",
    "Increasing",
]
__all__ += ["Not", "OneOf", "Part", "Program", "Scan", "Sum", "Value"]
