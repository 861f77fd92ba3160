"""The methods that the paper compares itself with, and those that it argues against.

Importing them registers their names: ``ngs``, ``reinforce``, ``mapo``, ``hard-feasible``, ``hard-best``, ``ssl`` and
``na`` are objectives from then on, with the optimisers of Appendix B.3.
"""

from . import constant as constant
from .back_search import BackSearch
from .hard import BestMapping, FeasibleMapping
from .mapo import MAPO
from .reinforce import Reinforce

__all__ = ["MAPO", "BackSearch", "BestMapping", "FeasibleMapping", "Reinforce"]
