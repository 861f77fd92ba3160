r"""Scouts: linear readings of the raw input that compete before the network learns; it begins with the best one.

.. math:: \mathrm{logits}(x) = f_\theta(x) + W_{k^*} \bar x, \qquad
          k^* = \arg\min_k \ell(W_k \bar x) \text{ after a short stage in which the } W_k \text{ alone are trained.}

Which of the readings that explain the answers a network finds is decided early, when its features tell apart only what
the answers tell apart: symbols with the same part in the rule are merged then, and no later loss parts them. Pixels
tell more symbols apart than untrained features do. A linear reading has little else to learn, costs next to nothing,
and which one it finds depends on its first weights; so many are tried, and the loss, with a prior on how often symbols
are used (:mod:`softground.training.usage`), says which is one-to-one. The network, whose last layer begins at 0,
then begins with the best one's reading and learns the rest. No label is looked at.
"""

import math

import torch
from torch import Tensor, nn

from .blueprint import LAYERS
from .ensemble import Several

GAIN, SOFT = 3.0, 0.1  # the norm of an input; the variance below which a pixel counts less
APART = 8.0  # by how much first weights exceed torch's own: the farther apart, the more different readings are found


@LAYERS.register("softground.Scouted")
class Scouted(Several):
    """A network from ``[batch, sites, …]`` to ``[batch, sites, outputs]`` with ``scouts`` linear readings of a site.

    ``inputs`` is the size of a site's input. While ``scouting``, which a learner sets in its first stage, training sees
    the scouts alone, as members of an ensemble.

    >>> network = Scouted(nn.Linear(16, 10), scouts=3, inputs=16, outputs=10)
    >>> network(torch.zeros(2, 4, 16)).shape
    torch.Size([2, 4, 10])
    """

    scouting = False

    def __init__(self, network: nn.Module, scouts: int, inputs: int, outputs: int) -> None:
        super().__init__(scouts)
        self.network, self.scouts, self.inputs, self.outputs = network, scouts, inputs, outputs
        self.centred = nn.BatchNorm1d(inputs, eps=SOFT, affine=False)
        self.linear = nn.Linear(inputs, scouts * outputs)
        with torch.no_grad():
            self.linear.weight.mul_(APART)
            for last in [layer for layer in network.modules() if isinstance(layer, nn.Linear)][-1:]:
                for weights in last.parameters():
                    weights.zero_()

    def forward(self, x: Tensor) -> Tensor:
        shape = x.shape[:2]
        pixels = x.flatten(2).flatten(0, 1)
        pixels = pixels if pixels.is_floating_point() else pixels.to(self.linear.weight.dtype) / 255
        seen = self.centred(pixels) * (GAIN / math.sqrt(self.inputs))
        every: Tensor = self.linear(seen).view(*shape, self.scouts, self.outputs).transpose(1, 2)
        if self.training and self.scouting:
            idle = torch.stack([weights.sum() for weights in self.network.parameters()]).sum()
            return every + 0 * idle  # several processes want a gradient of every weight
        scores: Tensor = self.network(x)
        return scores + self.best(every)
