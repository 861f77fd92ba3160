"""MNIST addition: two handwritten numbers and their sum."""

from .problem import Addition, addition_task

__all__ = ["Addition", "addition_task"]
