"""A network for CPUs: convolutions that skip every other pixel, with batch normalisation."""

from torch import nn

from .blueprint import IMAGE_NETWORKS


@IMAGE_NETWORKS.register("strided")
def strided(image: tuple[int, int, int], outputs: int, width: int = 8) -> nn.Sequential:
    """Two 5×5 convolutions of stride 2 (``width`` and 2·``width`` maps), then 128 and ``outputs`` units.

    A twentieth of the work of :func:`~softground.networks.convnet`, for somewhat less accuracy. Unlike LeNet-5 it is
    normalised, and so leaves the plateau on which a weak rule lets a network begin.
    """
    channels, height, breadth = image
    rows, columns = ((((side + 1) // 2) + 1) // 2 for side in (height, breadth))
    layers: list[nn.Module] = []
    for maps in (width, 2 * width):
        layers += [nn.Conv2d(channels, maps, 5, stride=2, padding=2, bias=False), nn.BatchNorm2d(maps), nn.ReLU()]
        channels = maps
    hidden = [nn.Flatten(), nn.Linear(channels * rows * columns, 128, bias=False), nn.BatchNorm1d(128), nn.ReLU()]
    return nn.Sequential(*layers, *hidden, nn.Linear(128, outputs))
