"""Networks that read images of symbols. Any ``torch.nn.Module`` will do; these are ready-made."""

from collections.abc import Callable

from torch import nn

from ..registry import Registry
from .blueprint import LAYERS
from .convnet import convnet
from .default import default_network
from .dropout import Dropout, RandomLayer
from .lenet import lenet
from .mlp import mlp
from .per_site import PerSite
from .standardise import Standardise

# Classifiers of one image by name: ``(image shape, outputs) -> module``.
IMAGE_NETWORKS: Registry[Callable[..., nn.Module]] = Registry("network")
IMAGE_NETWORKS.update(lenet=lenet, convnet=convnet)

__all__ = [
    "IMAGE_NETWORKS",
    "LAYERS",
    "Dropout",
    "PerSite",
    "RandomLayer",
    "Standardise",
    "convnet",
    "default_network",
    "lenet",
    "mlp",
]
