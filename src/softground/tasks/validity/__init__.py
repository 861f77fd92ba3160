"""Sudoku boards of 4×4, valid or not: recognise digits from that alone."""

from .problem import Validity

__all__ = ["Validity"]
