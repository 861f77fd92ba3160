"""Constraints: which symbol vectors are feasible for an answer."""

from .base import Constraint
from .computed import computed_answers, like_given
from .difference import Differences
from .program import Program
from .scan import Scan
from .smt import SMT

__all__ = ["SMT", "Constraint", "Differences", "Program", "Scan", "computed_answers", "like_given"]
