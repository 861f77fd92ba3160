"""Annealing schedules: the temperature γ for each gradient pass. A new one is one new file."""

from .base import SCHEDULES, Schedule
from .constant import Constant
from .exponential import Exponential
from .linear import Linear
from .logarithmic import Logarithmic

__all__ = ["SCHEDULES", "Constant", "Exponential", "Linear", "Logarithmic", "Schedule"]
