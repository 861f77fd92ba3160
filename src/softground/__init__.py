"""softground: teach networks to recognise symbols from rules instead of labels.

Data flows one way: a :class:`Task` bundles a **space** of symbol vectors, a **constraint** (the rule) and an
**inverse**; a **projection** and a **kernel** walk the feasible set S_y; a :class:`Learner` trains the network on
where the chains go.

Reference: Z. Li et al., Softened Symbol Grounding for Neuro-symbolic Systems, ICLR 2023.
"""

from .constraints import SMT, Program, Scan
from .data import Examples, RandomAffine, handwritten
from .errors import SoftgroundError
from .estimator import SoftGrounder
from .inspection import Inspection, inspect, recommend
from .inverses import Z3, Enumeration, Table
from .kernels import Collapsed, Composed, Exact, Guided, Metropolis, Uniform
from .learner import Learner, Stage, grounding_stages, one_cycle
from .model import Model, load
from .networks import Dropout, PerSite, Standardise, convnet, default_network, lenet, mlp
from .objectives import MAPO, BackSearch, Reinforce, SemanticLoss, SoftenedGrounding, Supervised, ZeroDegree
from .projections import ChangeOne, Drop, RandomDrop
from .schedules import Constant, Exponential, Linear, Logarithmic
from .spaces import Categorical
from .task import Task

__version__ = "0.1.0"

__all__ = [
    "MAPO",
    "SMT",
    "Z3",
    "BackSearch",
    "Categorical",
    "ChangeOne",
    "Collapsed",
    "Composed",
    "Constant",
    "Drop",
    "Dropout",
    "Enumeration",
    "Exact",
    "Examples",
    "Exponential",
    "Guided",
    "Inspection",
    "Learner",
    "Linear",
    "Logarithmic",
    "Metropolis",
    "Model",
    "PerSite",
    "Program",
    "RandomAffine",
    "RandomDrop",
    "Reinforce",
    "Scan",
    "SemanticLoss",
    "SoftGrounder",
    "SoftenedGrounding",
    "SoftgroundError",
    "Stage",
    "Standardise",
    "Supervised",
    "Table",
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
