"""Runs on disk: checkpoints that survive a crash, and the folder that holds a run's files."""

from . import checkpoint
from .environment import environment
from .folder import RunFolder
from .optimizer import pack_optimizer, unpack_optimizer

__all__ = ["RunFolder", "checkpoint", "environment", "pack_optimizer", "unpack_optimizer"]
