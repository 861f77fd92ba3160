"""Experiments: a recipe holds every setting of a run, a problem makes its parts, an experiment runs it."""

from .experiment import Experiment
from .place import Place
from .problem import EXACT, Problem
from .recipe import Recipe

__all__ = ["EXACT", "Experiment", "Place", "Problem", "Recipe"]
