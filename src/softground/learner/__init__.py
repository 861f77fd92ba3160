"""Algorithm 1 of the paper, and the learner around it."""

from .descent import OneCycle, one_cycle
from .device import make_fabric
from .grounding import grounding_stages
from .learner import Learner
from .loop import Loop
from .stage import Stage

__all__ = ["Learner", "Loop", "OneCycle", "Stage", "grounding_stages", "make_fabric", "one_cycle"]
