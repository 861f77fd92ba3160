"""Inspection: what can be known about a task before training it."""

from .inspection import Inspection, inspect
from .recommendation import Recommendation, recommend
from .time_limit import TimeLimit

__all__ = ["Inspection", "Recommendation", "TimeLimit", "inspect", "recommend"]
