"""Objectives: the loss for a batch."""

from .back_search import BackSearch
from .base import OBJECTIVES, Batch, Objective, Outcome
from .composite import CompositeLikelihood, parts_objective
from .grounding import SoftenedGrounding
from .hard import BestMapping, FeasibleMapping
from .labels import Supervised, ZeroDegree
from .mapo import MAPO
from .reinforce import Reinforce
from .semantic import SemanticLoss
from .term import Term
from .usage import Usage

__all__ = ["MAPO", "OBJECTIVES", "BackSearch", "Batch", "Objective", "Outcome", "Reinforce", "SemanticLoss"]
__all__ += ["Term", "Usage"]
__all__ += ["BestMapping", "CompositeLikelihood", "FeasibleMapping", "SoftenedGrounding", "Supervised", "ZeroDegree"]
__all__ += ["parts_objective"]
