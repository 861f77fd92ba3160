"""The rule as a layer of your own network: the grounding loss, and the posterior as a distribution of PyTorch."""

from .answer_codes import collate
from .grounding_loss import GroundingLoss
from .posterior import Posterior

__all__ = ["GroundingLoss", "Posterior", "collate"]
