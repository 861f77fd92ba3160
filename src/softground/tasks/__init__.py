"""Tasks: ready-made bundles of data, space, rule, projection and network.

``TASKS`` is what ``softground train NAME`` offers; a new task adds its options here.
"""

from .addition import AdditionOptions
from .experiment import Experiment, Options
from .formulas import FormulaOptions
from .sdsp import PathOptions
from .sudoku import SudokuOptions

TASKS: dict[str, type[Options]] = {
    "hwf": FormulaOptions,
    "sudoku": SudokuOptions,
    "sdsp": PathOptions,
    "addition": AdditionOptions,
}

__all__ = ["TASKS", "AdditionOptions", "Experiment", "FormulaOptions", "Options", "PathOptions", "SudokuOptions"]
