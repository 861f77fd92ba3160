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

__all__ = [
    "SMT",
    "TASKS",
    "Z3",
    "Batch",
    "Belief",
    "Categorical",
    "ChangeOne",
    "Collapsed",
    "Composed",
    "Constant",
    "Constraint",
    "Dice",
    "Differences",
    "Drop",
    "Dropout",
    "Dropped",
    "Enumeration",
    "Exact",
    "Examples",
    "Experiment",
    "Exponential",
    "Fibre",
    "Gaussian",
    "Guided",
    "Info",
    "Inspection",
    "Inverse",
    "Kernel",
    "Law",
    "Learner",
    "Linear",
    "Listing",
    "Logarithmic",
    "Metropolis",
    "Model",
    "Move",
    "Objective",
    "Outcome",
    "PerSite",
    "Program",
    "Projection",
    "RandomAffine",
    "RandomDrop",
    "Recipe",
    "Sampler",
    "Scan",
    "Scanned",
    "Schedule",
    "SemanticLoss",
    "SiteGibbs",
    "SoftGrounder",
    "SoftenedGrounding",
    "SoftgroundError",
    "Space",
    "Stage",
    "Standardise",
    "Start",
    "Supervised",
    "Table",
    "Target",
    "Task",
    "Uniform",
    "ZeroDegree",
    "convnet",
    "default_network",
    "grounding_stages",
    "handwritten",
    "inspect",
    "lenet",
    "load",
    "mlp",
    "one_cycle",
    "recommend",
]
