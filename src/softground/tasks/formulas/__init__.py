"""Handwritten formulas: recognise digits and operators from the values of formulas alone."""

from .options import FormulaOptions, formula_task
from .rule import formula_program, formula_space

__all__ = ["FormulaOptions", "formula_program", "formula_space", "formula_task"]
