"""Networks that read images of symbols. Any ``torch.nn.Module`` will do; these are ready-made."""

from .convnet import convnet
from .default import default_network
from .lenet import lenet
from .mlp import mlp
from .per_site import PerSite
from .standardise import Standardise

__all__ = ["PerSite", "Standardise", "convnet", "default_network", "lenet", "mlp"]
