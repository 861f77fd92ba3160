"""Learner: Algorithm 1, and the estimator around it."""

from .learner import Learner, make_fabric, two_stages
from .loop import Loop
from .stage import Stage, one_cycle

__all__ = ["Learner", "Loop", "Stage", "make_fabric", "one_cycle", "two_stages"]
