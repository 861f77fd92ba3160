"""Objectives: the loss for a batch."""

from .base import Batch, Objective, Outcome
from .grounding import SoftenedGrounding
from .supervised import Supervised
from .zero import ZeroDegree

__all__ = ["Batch", "Objective", "Outcome", "SoftenedGrounding", "Supervised", "ZeroDegree"]
