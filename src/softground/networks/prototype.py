r"""A prototype head: symbols are told apart by their distance to embedded anchors.

.. math:: \mathrm{logit}_s(x) = -\lVert f_\theta(x) - c_s \rVert^2, \qquad c_s = \text{mean of } f_\theta(a)
          \text{ over the anchors } a \text{ of } s

A reading that calls the anchor of 3 a 5 cannot be expressed at all, however well it explains the answers. In training,
:math:`c_s` is the mean over the anchors in the batch, distorted like the rest of it (so each is seen in ever new
copies), and gradients pass through it: every batch is an episode. A running mean is kept for what is read later, and
for symbols of which a batch has no anchor. Symbols without any anchor have a centre that is learnt like a weight.

Reference: J. Snell, K. Swersky and R. Zemel, Prototypical networks for few-shot learning, NeurIPS 2017; the encoder is
theirs.
"""

import torch
from torch import Tensor, nn

from .blueprint import IMAGE_NETWORKS, LAYERS
from .convnet import GlobalAverage

WIDTH = 64  # maps of the encoder, and features of an embedding
MOMENTUM = 0.1  # of the running mean


@LAYERS.register("softground.Prototypes")
class Prototypes(nn.Module):
    """``encoder`` to ``[images, features]``, then minus the squared distances to ``outputs`` centres.

    ``support`` is set by the learner before each training step: the symbols that the last images of the batch show, as
    columns of the output, −1 where an image shows none.
    """

    prototypes: Tensor
    anchored: Tensor
    seen: Tensor
    support: Tensor | None = None
    static = False  # what a batch shows is known in Python

    def __init__(self, encoder: nn.Module, outputs: int, features: int = WIDTH) -> None:
        super().__init__()
        self.encoder, self.outputs, self.features = encoder, outputs, features
        self.free = nn.Parameter(torch.randn(outputs, features))
        self.register_buffer("prototypes", torch.zeros(outputs, features))
        self.register_buffer("anchored", torch.zeros(outputs, dtype=torch.bool))
        self.register_buffer("seen", torch.zeros(outputs, dtype=torch.bool))

    def forward(self, x: Tensor) -> Tensor:
        embedded: Tensor = self.encoder(x)
        centres = self._episode(embedded) if self.training and self.support is not None else self.prototypes
        centres = torch.where(self.anchored[:, None], centres, self.free)
        far = embedded.square().sum(1, keepdim=True) + centres.square().sum(1) - 2 * embedded @ centres.T
        return -far

    def _episode(self, embedded: Tensor) -> Tensor:
        """The centres by the anchors in the batch; the running mean takes them in."""
        assert self.support is not None
        own = embedded[len(embedded) - len(self.support) :]
        where = torch.where(self.support < 0, self.outputs, self.support)  # the last row is nobody's
        total = own.new_zeros(self.outputs + 1, self.features).index_add(0, where, own)[:-1]
        count = torch.zeros(self.outputs + 1, device=own.device).index_add(0, where, torch.ones_like(own[:, 0]).float())
        here, mean = count[:-1, None] > 0, total / count[:-1, None].clamp(min=1)
        with torch.no_grad():
            moved = torch.where(self.seen[:, None], self.prototypes.lerp(mean.to(self.prototypes), MOMENTUM), mean)
            centres = torch.where(here, mean, self.prototypes)
            self.prototypes.copy_(torch.where(here, moved, self.prototypes))
            self.seen.logical_or_(here.squeeze(1))
        return torch.where(here, mean, centres)

    def extra_repr(self) -> str:
        return f"outputs={self.outputs}, features={self.features}"


def heads(network: nn.Module) -> list[Prototypes]:
    """The prototype heads in a network."""
    return [layer for layer in network.modules() if isinstance(layer, Prototypes)]


@IMAGE_NETWORKS.register("prototype")
def prototype(image: tuple[int, int, int], outputs: int) -> nn.Module:
    """Four blocks of a 3×3 convolution (64 maps), batch norm, ReLU and, while there is room, pooling; then the mean."""
    channels, height, width = image
    layers: list[nn.Module] = []
    for _ in range(4):
        layers += [nn.Conv2d(channels, WIDTH, 3, padding=1, bias=False), nn.BatchNorm2d(WIDTH), nn.ReLU()]
        channels = WIDTH
        if min(height, width) >= 2:
            layers.append(nn.MaxPool2d(2))
            height, width = height // 2, width // 2
    return Prototypes(nn.Sequential(*layers, GlobalAverage()), outputs)
