"""Runs on disk: checkpoints that survive a crash, and the folder that holds a run's files."""

from . import checkpoint
from .environment import environment
from .folder import RunFolder

__all__ = ["RunFolder", "checkpoint", "environment"]
