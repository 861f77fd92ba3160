"""The network that inputs get when none is named, chosen by their shape."""

from torch import Tensor, nn

from ..errors import DataError
from ..spaces.categorical import Categorical
from .convnet import convnet
from .mlp import mlp
from .per_site import PerSite
from .standardise import Standardise

FIRST_STAGE_MAPS = 16  # of the convolutional network: enough for digits, and quick on a CPU


def default_network(x: Tensor, space: Categorical) -> nn.Module:
    """A small network from inputs like ``x`` to ``[batch, sites, space.outputs]``.

    ==================================== ================================================================
    shape of ``x``                       network
    ==================================== ================================================================
    ``[n, sites, channels, h, w]``       one convolutional network that reads each site's image by itself
    ``[n, sites, h, w]``                 the same, for grey images without an axis of channels
    ``[n, sites, features]``             one fully connected network for all sites
    ``[n, channels, h, w]``              one image of everything: one convolutional network for all sites
    ``[n, features]``                    one fully connected network for all sites
    ==================================== ================================================================

    The first three see one site at a time and learn from every site at once; prefer them where the input can be cut.
    Weights are drawn from torch's global generator, which :func:`softground.seeded` lends and puts back.

    >>> import torch
    >>> space = Categorical([range(10)] * 3)
    >>> default_network(torch.zeros(5, 3, 1, 8, 8), space)(torch.zeros(2, 3, 1, 8, 8)).shape
    torch.Size([2, 3, 10])
    """
    sites, outputs, shape = space.sites, space.outputs, tuple(x.shape[1:])
    if len(shape) == 4 and shape[0] == sites:
        return PerSite(convnet(shape[1:], outputs, FIRST_STAGE_MAPS), shape[1:])
    if len(shape) == 3 and shape[0] == sites:
        grey = (1, *shape[1:])
        return nn.Sequential(nn.Unflatten(1, (-1, 1)), PerSite(convnet(grey, outputs, FIRST_STAGE_MAPS), grey))
    if len(shape) == 3:
        whole = PerSite(convnet(shape, sites * outputs, FIRST_STAGE_MAPS), shape)
        return nn.Sequential(nn.Unflatten(1, (1, shape[0])), whole, nn.Flatten(1), nn.Unflatten(1, (sites, outputs)))
    if len(shape) == 2 and shape[0] == sites:
        return nn.Sequential(Standardise.each_feature(x), mlp(shape[1], outputs))
    if len(shape) == 1:
        head = nn.Unflatten(1, (sites, outputs))
        return nn.Sequential(Standardise.each_feature(x), mlp(shape[0], sites * outputs), head)
    raise DataError(
        f"Inputs of shape {tuple(x.shape)} were given for {sites} sites; expected (n, {sites}, channels, height, width)"
        f" for images, (n, {sites}, features) or (n, features). Reshape them, or give a network of your own."
    )
