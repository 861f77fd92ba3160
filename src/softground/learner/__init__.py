"""Learner: Algorithm 1, and the estimator around it."""

from .learner import Learner, grounding_stages, make_fabric
from .loop import Loop
from .stage import OneCycle, Stage, one_cycle

__all__ = ["Learner", "Loop", "OneCycle", "Stage", "grounding_stages", "make_fabric", "one_cycle"]
