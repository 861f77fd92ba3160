"""Tasks: ready-made problems, each with its data, rule, walk and presets. ``softground train`` offers them by name."""

from ..experiments.problem import TASKS
from .addition import Addition
from .formulas import Formulas
from .kandinsky import KandLogic
from .sdsp import ShortestPaths
from .shortcuts import EvenOdd, Half
from .sudoku import Sudoku
from .sums import Sums
from .validity import Validity

__all__ = [
    "TASKS",
    "Addition",
    "EvenOdd",
    "Formulas",
    "Half",
    "KandLogic",
    "ShortestPaths",
    "Sudoku",
    "Sums",
    "Validity",
]
