"""Constraints: which symbol vectors are feasible for an answer."""

from .base import Constraint
from .program import Program

__all__ = ["Constraint", "Program"]
