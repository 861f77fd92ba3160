"""The names of :mod:`softground` for type checkers; at run time each is imported at first use."""

from .constraints import (
    SMT,
    All,
    AllDifferent,
    Allowed,
    Between,
    Clause,
    Cnf,
    Contains,
    Count,
    CPMpy,
    Increasing,
    Not,
    OneOf,
    Program,
    Scan,
    Sum,
    Value,
)
from .data import Anchors, Examples, Records, handwritten
from .dice import seeded
from .errors import InfeasibleAnswer, SoftgroundError
from .estimator import SoftGrounder
from .inspection import inspect
from .inverses import Budget
from .layer import GroundingLoss, Posterior, collate
from .learner import Learner, Stage, grounding_stages
from .model import load
from .networks import PerSite, convnet, default_network, mlp
from .spaces import Categorical
from .task import Family, Task

__all__ = ["All", "AllDifferent", "Allowed", "Anchors", "Between", "Budget", "CPMpy", "Categorical", "Clause"]
__all__ += ["Cnf", "Contains", "Count", "Examples", "Family", "GroundingLoss", "Increasing", "InfeasibleAnswer"]
__all__ += ["SMT", "Learner", "Not", "OneOf", "PerSite", "Posterior", "Program", "Records", "Scan"]
__all__ += ["SoftGrounder", "SoftgroundError", "Stage", "Sum", "Task", "Value", "collate", "convnet"]
__all__ += ["default_network", "grounding_stages", "handwritten", "inspect", "load", "mlp", "seeded"]
