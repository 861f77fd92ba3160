"""Rules that are read from left to right: a small state, updated by each symbol, accepted by y at the end."""

from .rule import Scan

__all__ = ["Scan"]
