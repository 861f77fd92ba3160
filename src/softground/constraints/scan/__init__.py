"""Scans: rules with a small state that each symbol updates from left to right, and y accepts at the end."""

from .rule import Scan

__all__ = ["Scan"]
