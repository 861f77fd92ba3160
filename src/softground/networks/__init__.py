"""Ready-made networks for images of symbols. Any ``torch.nn.Module`` works as well."""

from .blueprint import IMAGE_NETWORKS, LAYERS
from .ensemble import Ensemble
from .layers import Dropout, PerSite, RandomLayer, Standardise, convnet, default_network, lenet, mlp, strided

__all__ = ["IMAGE_NETWORKS", "LAYERS", "Dropout", "PerSite", "RandomLayer", "Standardise", "convnet"]
__all__ += ["default_network", "lenet", "mlp"]
__all__ += ["Ensemble", "strided"]
