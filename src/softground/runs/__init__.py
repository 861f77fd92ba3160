"""Runs on disk: checkpoints that survive a crash, and the folder that holds a run's files."""

from .folder import RunFolder, environment

__all__ = ["RunFolder", "environment"]
