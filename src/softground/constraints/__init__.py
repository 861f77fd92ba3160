"""Constraints: which symbol vectors are feasible for an answer."""

from .base import Constraint
from .difference import Differences
from .program import Program
from .scan import Scan
from .smt import SMT

__all__ = ["SMT", "Constraint", "Differences", "Program", "Scan"]
