"""A small convolutional network with batch normalisation: what we recommend for images of symbols."""

from __future__ import annotations

from torch import Tensor, nn

from .blueprint import LAYERS
from .dropout import Dropout


@LAYERS.register("softground.GlobalAverage")
class GlobalAverage(nn.Module):
    """The mean of each map. Unlike torch's adaptive pooling, its gradient gives the same bits each time on a GPU."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean((2, 3))


def convnet(image: tuple[int, int, int], outputs: int, width: int = 32, dropout: float = 0.2) -> nn.Sequential:
    """Three stages of two 3×3 convolutions (``width``, 2·``width``, 4·``width`` maps), then global average pooling.

    With ``width=32`` about 290,000 parameters, whatever the image size.
    """
    channels, height, size = image[0], image[1], width
    layers: list[nn.Module] = []
    for stage in range(3):
        for _ in range(2):
            layers += [nn.Conv2d(channels, size, 3, padding=1, bias=False), nn.BatchNorm2d(size), nn.ReLU()]
            channels = size
        if stage < 2 and height >= 8:
            layers.append(nn.MaxPool2d(2))
            height //= 2
        size *= 2
    layers += [GlobalAverage(), Dropout(dropout), nn.Linear(channels, outputs)]
    return nn.Sequential(*layers)
