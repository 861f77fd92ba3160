"""Spaces: what a symbol vector is, and log P(z|x) from the network's output."""

from .base import Belief, Space
from .categorical import Categorical, CategoricalBelief
from .mixture import MixtureBelief

__all__ = ["Belief", "Categorical", "CategoricalBelief", "MixtureBelief", "Space"]
