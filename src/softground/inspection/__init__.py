"""Inspection: examine a task before training it."""

from .inspection import Inspection, inspect

__all__ = ["Inspection", "inspect"]
