"""Handwritten formulas: recognise digits and operators from the values of formulas alone."""

from .problem import Formulas, formula_task
from .rule import formula_program, formula_space

__all__ = ["Formulas", "formula_program", "formula_space", "formula_task"]
