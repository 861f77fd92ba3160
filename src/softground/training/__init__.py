"""What a training step is made of: the step, teachers and terms."""

from .composite_likelihood import CompositeLikelihood, parts_objective
from .noise import Noise
from .step import OBJECTIVES, Batch, Moment, Teacher, Term, TrainingSet, step
from .teachers import SemanticLoss, SoftenedGrounding, Supervised, ZeroDegree
from .usage import Usage

__all__ = ["OBJECTIVES", "Batch", "CompositeLikelihood", "Moment", "Noise", "SemanticLoss", "SoftenedGrounding"]
__all__ += ["Supervised", "Teacher", "Term", "TrainingSet", "Usage", "ZeroDegree", "parts_objective", "step"]
