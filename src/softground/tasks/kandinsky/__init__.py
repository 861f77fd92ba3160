"""Kand-Logic: recognise shapes and colours from whether the figures of a scene follow one pattern."""

from .problem import KandLogic
from .rule import kand_scan

__all__ = ["KandLogic", "kand_scan"]
