"""Visual Sudoku: recognise digits from nothing but the knowledge that boards are valid."""

from .options import SudokuOptions, sudoku_task
from .rule import sudoku_program, sudoku_smt, sudoku_space

__all__ = ["SudokuOptions", "sudoku_program", "sudoku_smt", "sudoku_space", "sudoku_task"]
