"""Inspection: what can be known about a task before any training. ``softground inspect``, and ``projection="auto"``."""

from .inspection import Inspection, inspect
from .limit import Limit
from .recommendation import Recommendation, auto_kernel, recommend

__all__ = ["Inspection", "Limit", "Recommendation", "auto_kernel", "inspect", "recommend"]
