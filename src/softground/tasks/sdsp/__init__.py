"""Shortest paths to a single destination: learn to estimate distances from the paths alone."""

from .graphs import Graphs, random_graphs
from .problem import ShortestPaths
from .task import PathTask, sdsp_task

__all__ = ["Graphs", "PathTask", "ShortestPaths", "random_graphs", "sdsp_task"]
