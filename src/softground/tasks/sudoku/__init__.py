"""Visual Sudoku: recognise digits from nothing but the knowledge that boards are valid."""

from .problem import Sudoku, sudoku_task
from .rule import sudoku_program, sudoku_smt, sudoku_space

__all__ = ["Sudoku", "sudoku_program", "sudoku_smt", "sudoku_space", "sudoku_task"]
