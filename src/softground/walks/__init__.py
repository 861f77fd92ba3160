"""Which walk moves best on S_y: projections and moves, tried on a sample of the rule's own solutions."""

from .recommendation import Recommendation, recommend
from .time_limit import TimeLimit

__all__ = ["Recommendation", "TimeLimit", "recommend"]
