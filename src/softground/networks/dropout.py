"""Layers that draw at random in training, from a generator of the fit's own.

torch's dropout draws from one generator that all threads share, so that simultaneous fits disturb each other. These
layers do not: one seed gives one result, whatever else runs.
"""

import torch
from torch import Tensor, nn

from .blueprint import LAYERS


class RandomLayer(nn.Module):
    """The base of layers that draw at random; ``generator`` is the fit's while one lasts, else torch's global one."""

    generator: torch.Generator | None = None


def draw_from(network: nn.Module, generator: torch.Generator | None) -> None:
    """Give the network's random layers their generator."""
    for layer in network.modules():
        if isinstance(layer, RandomLayer):
            layer.generator = generator


@LAYERS.register("softground.Dropout")
class Dropout(RandomLayer):
    """In training, a share ``p`` of the inputs becomes 0, and the others are scaled up by 1/(1 − p).

    >>> Dropout(0.5).eval()(torch.ones(3))
    tensor([1., 1., 1.])
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = nn.Dropout(p).p  # which refuses what is not a probability

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.p:
            return x
        kept = torch.empty_like(x).bernoulli_(1 - self.p, generator=self.generator)
        return x * kept.div_(1 - self.p) if self.p < 1 else x * kept

    def extra_repr(self) -> str:
        return f"p={self.p}"
