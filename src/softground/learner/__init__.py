"""Algorithm 1 of the paper, and the learner around it."""

from .device import make_fabric
from .learner import Learner
from .loop import Loop
from .settings import TrainingSettings
from .stage import OneCycle, Stage, grounding_stages, one_cycle

__all__ = ["Learner", "Loop", "OneCycle", "Stage", "TrainingSettings", "grounding_stages", "make_fabric", "one_cycle"]
