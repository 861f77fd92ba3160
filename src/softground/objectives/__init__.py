"""Objectives: the loss for a batch."""

from .base import OBJECTIVES, Batch, Objective, Outcome
from .composite import CompositeLikelihood, parts_objective
from .grounding import SoftenedGrounding
from .labels import Supervised, ZeroDegree
from .semantic import SemanticLoss
from .term import Term
from .usage import Usage

__all__ = ["OBJECTIVES", "Batch", "CompositeLikelihood", "Objective", "Outcome", "SemanticLoss", "SoftenedGrounding"]
__all__ += ["Supervised", "Term", "Usage", "ZeroDegree"]
__all__ += ["parts_objective"]
