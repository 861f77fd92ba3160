"""MNIST addition: two handwritten numbers and their sum."""

from .options import AdditionOptions, addition_task

__all__ = ["AdditionOptions", "addition_task"]
