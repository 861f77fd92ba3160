"""Tasks: ready-made bundles of data, space, rule, projection and network.

``TASKS`` is what ``softground train NAME`` offers; a new task adds its options here.
"""

from .experiment import Experiment, Options
from .formulas import FormulaOptions

TASKS: dict[str, type[Options]] = {"hwf": FormulaOptions}

__all__ = ["TASKS", "Experiment", "FormulaOptions", "Options"]
