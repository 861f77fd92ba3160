"""The outputs of one network as a mixture of K products; see :mod:`softground.spaces.mixture`."""

from torch import Tensor, nn

from ..errors import LearnerError
from .blueprint import LAYERS


@LAYERS.register("softground.Mixture")
class Mixture(nn.Module):
    """P(z|x) as a mixture of K products, from a network to ``[batch, sites, K · (outputs + 1)]``.

    A component has one output for each symbol, and one more for what a site adds to the logarithm of its weight.

    >>> import torch
    >>> network = Mixture(nn.Linear(16, Mixture.outputs(10, 3)), components=3)
    >>> network(torch.zeros(2, 4, 16)).shape
    torch.Size([2, 3, 4, 11])
    """

    def __init__(self, network: nn.Module, components: int) -> None:
        super().__init__()
        if components < 1:
            raise LearnerError(f"mixture={components} was given; expected at least one component.")
        self.network, self.components = network, components

    @staticmethod
    def outputs(outputs: int, components: int) -> int:
        """How many numbers a network must give for each site, where one product takes ``outputs``."""
        return components * (outputs + 1)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.network(x)
        return scores.view(scores.shape[0], scores.shape[1], self.components, -1).transpose(1, 2)
