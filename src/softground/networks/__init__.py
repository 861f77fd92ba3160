"""Networks that read images of symbols. Any ``torch.nn.Module`` will do; these are ready-made."""

from .blueprint import IMAGE_NETWORKS, LAYERS
from .convnet import convnet
from .default import default_network
from .dropout import Dropout, RandomLayer
from .ensemble import Ensemble
from .lenet import lenet
from .mlp import mlp
from .per_site import PerSite
from .scouts import Scouted
from .standardise import Standardise
from .strided import strided

__all__ = ["IMAGE_NETWORKS", "LAYERS", "Dropout", "PerSite", "RandomLayer", "Standardise", "convnet"]
__all__ += ["default_network", "lenet", "mlp"]
__all__ += ["Ensemble", "Scouted", "strided"]
