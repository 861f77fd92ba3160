"""Everything that ``import softground`` offers by name; :mod:`softground` fetches it at first use."""

from .answer_codes import collate
from .constraints import (
    SMT,
    All,
    AllDifferent,
    Allowed,
    Between,
    Clause,
    Cnf,
    Constraint,
    Contains,
    Count,
    CPMpy,
    Increasing,
    Not,
    OneOf,
    Part,
    Program,
    Scan,
    Sum,
    Value,
)
from .data import Anchors, Examples, Ragged, RandomAffine, Records, Split, handwritten
from .dice import Dice, Sampler
from .errors import SoftgroundError
from .estimator import SoftGrounder
from .experiments import Experiment, Problem, Recipe
from .grounding_loss import GroundingLoss
from .inspection import Inspection, inspect
from .inverses import (
    CPSAT,
    INVERSES,
    Z3,
    Budget,
    Circuit,
    Enumeration,
    Fibre,
    Inverse,
    Law,
    Listing,
    Scanned,
    Start,
    Table,
)
from .kernels import KERNELS, Collapsed, Composed, Exact, Guided, Info, Kernel, Metropolis, Uniform
from .learner import Learner, Stage, TrainingSettings, grounding_stages, one_cycle
from .metrics import calibration_error, collapse, macro_f1, reliability
from .model import Model, load
from .networks import Dropout, Ensemble, PerSite, Standardise, convnet, default_network, lenet, mlp
from .posterior import Posterior
from .projections import ChangeOne, Drop, Dropped, Move, Projection, RandomDrop, Walk
from .reals import Equations, Gaussian
from .schedules import SCHEDULES, Constant, Exponential, Linear, Logarithmic, Schedule
from .seeds import seeded
from .spaces import Belief, Categorical, Space
from .target import Target
from .task import Family, Task
from .tasks import TASKS
from .tasks.sdsp import Differences, SiteGibbs
from .training import (
    OBJECTIVES,
    Batch,
    CompositeLikelihood,
    Noise,
    SemanticLoss,
    SoftenedGrounding,
    Supervised,
    Teacher,
    Term,
    Usage,
    ZeroDegree,
)
from .walks import recommend

__all__ = ["Anchors", "Batch", "Belief", "Categorical", "ChangeOne", "Collapsed", "Composed", "Constant"]
__all__ += ["Constraint", "Dice", "Differences", "Drop", "Dropout", "Dropped", "Enumeration", "Exact", "Examples"]
__all__ += ["KERNELS", "Experiment", "Exponential", "Fibre", "Gaussian", "Guided", "Info", "Inspection", "Inverse"]
__all__ += ["Kernel", "Law", "Learner", "Linear", "Listing", "Logarithmic", "Metropolis", "Model", "Move"]
__all__ += ["OBJECTIVES", "Noise", "PerSite", "Problem", "Program", "Projection", "RandomAffine", "Teacher"]
__all__ += ["SCHEDULES", "SMT", "RandomDrop", "Recipe", "Sampler", "Scan", "Scanned", "Schedule"]
__all__ += ["SemanticLoss", "SiteGibbs", "SoftGrounder", "SoftenedGrounding", "SoftgroundError", "Space", "Split"]
__all__ += ["TASKS", "Z3", "Stage", "Standardise", "Start", "Supervised", "Table", "Target", "Task", "Uniform", "Walk"]
__all__ += ["ZeroDegree", "convnet", "default_network", "grounding_stages", "handwritten", "inspect", "lenet", "load"]
__all__ += ["INVERSES", "Records", "mlp", "one_cycle", "recommend", "seeded"]
__all__ += ["calibration_error", "collapse", "macro_f1", "reliability"]
__all__ += ["Ensemble", "Term", "TrainingSettings", "Usage"]
__all__ += ["CPSAT", "Between", "Budget", "CPMpy", "Contains", "Family", "Not", "OneOf", "Ragged"]
__all__ += [
    "All",
    "AllDifferent",
    "Allowed",
    "Clause",
    "Cnf",
    "CompositeLikelihood",
    "Count",
    "Increasing",
    "Part",
    "Sum",
    "Value",
]
__all__ += ["Circuit", "Equations", "GroundingLoss", "Posterior", "collate"]
