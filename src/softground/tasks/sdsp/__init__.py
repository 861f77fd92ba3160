"""Shortest paths to a single destination: learn to estimate distances from the paths alone."""

from .differences import Differences, Intervals
from .gibbs import BlockGibbs, SiteGibbs
from .graphs import Graphs, random_graphs
from .path_task import PathTask, sdsp_task
from .problem import ShortestPaths

__all__ = [
    "BlockGibbs",
    "Differences",
    "Graphs",
    "Intervals",
    "PathTask",
    "ShortestPaths",
    "SiteGibbs",
    "random_graphs",
]
__all__ += ["sdsp_task"]
