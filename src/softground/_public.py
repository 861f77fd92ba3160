"""Everything that ``import softground`` offers by name; :mod:`softground` fetches it at first use."""

from .constraints import SMT, Constraint, Program, Scan
from .data import Examples, RandomAffine, handwritten
from .dice import Dice, Sampler
from .errors import SoftgroundError
from .estimator import SoftGrounder
from .experiments import Experiment, Recipe
from .inspection import Inspection, inspect, recommend
from .inverses import Z3, Enumeration, Fibre, Inverse, Law, Listing, Scanned, Start, Table
from .kernels import Collapsed, Composed, Exact, Guided, Info, Kernel, Metropolis, Uniform
from .learner import Learner, Stage, grounding_stages, one_cycle
from .model import Model, load
from .networks import Dropout, PerSite, Standardise, convnet, default_network, lenet, mlp
from .objectives import Batch, Objective, Outcome, SemanticLoss, SoftenedGrounding, Supervised, ZeroDegree
from .projections import ChangeOne, Drop, Dropped, Move, Projection, RandomDrop
from .reals import Differences, Gaussian, SiteGibbs
from .schedules import Constant, Exponential, Linear, Logarithmic, Schedule
from .spaces import Belief, Categorical, Space
from .target import Target
from .task import Task
from .tasks import TASKS

__all__ = ["SMT", "TASKS", "Z3", "Batch", "Belief", "Categorical", "ChangeOne", "Collapsed", "Composed", "Constant"]
__all__ += ["Constraint", "Dice", "Differences", "Drop", "Dropout", "Dropped", "Enumeration", "Exact", "Examples"]
__all__ += ["Experiment", "Exponential", "Fibre", "Gaussian", "Guided", "Info", "Inspection", "Inverse", "Kernel"]
__all__ += ["Law", "Learner", "Linear", "Listing", "Logarithmic", "Metropolis", "Model", "Move", "Objective"]
__all__ += ["Outcome", "PerSite", "Program", "Projection", "RandomAffine", "RandomDrop", "Recipe", "Sampler", "Scan"]
__all__ += ["Scanned", "Schedule", "SemanticLoss", "SiteGibbs", "SoftGrounder", "SoftenedGrounding"]
__all__ += ["SoftgroundError", "Space", "Stage", "Standardise", "Start", "Supervised", "Table", "Target", "Task"]
__all__ += ["Uniform", "ZeroDegree", "convnet", "default_network", "grounding_stages", "handwritten", "inspect"]
__all__ += ["lenet", "load", "mlp", "one_cycle", "recommend"]
