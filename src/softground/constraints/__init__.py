"""Constraints: which symbol vectors are feasible for an answer."""

from .base import Constraint
from .program import Program
from .scan import Scan
from .smt import SMT

__all__ = ["SMT", "Constraint", "Program", "Scan"]
