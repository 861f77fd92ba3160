"""Networks that read images of symbols. Any ``torch.nn.Module`` will do; these are ready-made."""

from .convnet import convnet
from .lenet import lenet
from .per_site import PerSite

__all__ = ["PerSite", "convnet", "lenet"]
