"""The methods that the paper compares itself with, those that it argues against, and parts of its authors' code.

Importing them registers their names. The objectives ``ngs``, ``reinforce``, ``mapo``, ``hard-feasible``, ``hard-best``,
``ssl`` and ``na`` have the optimisers of Appendix B.3. The schedules ``exp-code``, ``log-code`` and ``linear-code`` and
the boards ``authors`` are those of the authors' code; for shortest paths there is the inverse ``z3``.
"""

from . import constant as constant
from .back_search import BackSearch
from .boards import authors_boards
from .hard import BestMapping, FeasibleMapping
from .mapo import MAPO
from .reinforce import Reinforce
from .schedules import CodeLinear, CodeLogarithmic
from .z3_reals import Z3Reals

__all__ = ["MAPO", "BackSearch", "BestMapping", "CodeLinear", "CodeLogarithmic", "FeasibleMapping", "Reinforce"]
__all__ += ["Z3Reals", "authors_boards"]
