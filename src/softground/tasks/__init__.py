"""Tasks: ready-made problems, each with its data, rule, walk and presets. ``softground train`` offers them by name."""

from ..experiments.problem import TASKS
from .addition import Addition
from .formulas import Formulas
from .sdsp import ShortestPaths
from .sudoku import Sudoku
from .sums import Sums

__all__ = ["TASKS", "Addition", "Formulas", "ShortestPaths", "Sudoku", "Sums"]
