"""Annealing schedules: the temperature γ for each gradient pass. A new one is one new file."""

from .base import Schedule
from .constant import Constant
from .exponential import Exponential
from .linear import Linear
from .logarithmic import Logarithmic
from .naming import NAMES, by_name

__all__ = ["NAMES", "Constant", "Exponential", "Linear", "Logarithmic", "Schedule", "by_name"]
