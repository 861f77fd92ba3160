"""A small convolutional network with batch normalisation: what we recommend for images of symbols."""

from torch import Tensor, nn

from .blueprint import IMAGE_NETWORKS, LAYERS
from .dropout import Dropout


@LAYERS.register("softground.GlobalAverage")
class GlobalAverage(nn.Module):
    """The mean of each map. Unlike torch's adaptive pooling, its gradient gives the same bits each time on a GPU."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean((2, 3))


@IMAGE_NETWORKS.register("convnet")
def convnet(image: tuple[int, int, int], outputs: int, width: int = 32, dropout: float = 0.2) -> nn.Sequential:
    """Three stages of two 3×3 convolutions (``width``, 2·``width``, 4·``width`` maps), then global average pooling.

    With ``width=32`` about 290,000 parameters, whatever the image size.
    """
    channels, height, _ = image
    layers: list[nn.Module] = []
    for stage in range(3):
        maps = width * 2**stage
        for _ in range(2):
            layers += [nn.Conv2d(channels, maps, 3, padding=1, bias=False), nn.BatchNorm2d(maps), nn.ReLU()]
            channels = maps
        if stage < 2 and height >= 8:
            layers.append(nn.MaxPool2d(2))
            height //= 2
    return nn.Sequential(*layers, GlobalAverage(), Dropout(dropout), nn.Linear(channels, outputs))
