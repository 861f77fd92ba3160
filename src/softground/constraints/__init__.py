"""Constraints: which symbol vectors are feasible for an answer."""

from .base import Constraint
from .cpmpy import CPMpy
from .program import Program
from .relations import Between, Contains, Not, OneOf
from .scan import Scan
from .smt import SMT

__all__ = ["SMT", "Between", "CPMpy", "Constraint", "Contains", "Not", "OneOf", "Program", "Scan"]
