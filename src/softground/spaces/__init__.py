"""Spaces: what a symbol vector is, and log P(z|x) from the network's output."""

from .base import Belief, Space
from .categorical import Categorical, CategoricalBelief

__all__ = ["Belief", "Categorical", "CategoricalBelief", "Space"]
