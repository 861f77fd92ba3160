"""Networks of images and of rows, and layers that torch lacks: one classifier for all sites, dropout with a generator.

**Random layers.** torch's dropout draws from one generator that all threads share, so simultaneous fits disturb each
other. These layers have their own generators, which makes each fit reproducible.

**Networks** are classifiers of one image, one for rows of numbers, and the default network.

Reference: Y. LeCun et al., Gradient-based learning applied to document recognition, Proc. IEEE 86 (1998).
"""

from __future__ import annotations

import math
import warnings

import torch
from torch import Tensor, nn

from ..errors import DataError
from ..spaces.categorical import Categorical
from .blueprint import IMAGE_NETWORKS, LAYERS

PIXELS = 16  # the fewest in a site that may be an image
FIRST_STAGE_MAPS = 16  # of the convolutional network: enough for digits, and quick on a CPU


@LAYERS.register("softground.PerSite")
class PerSite(nn.Module):
    """Apply an image classifier to each site: ``[batch, sites, channels, h, w]`` to ``[batch, sites, outputs]``.

    It scales byte images to 0 … 1 on the network's device, so data stay small until they are used.
    """

    image_by_image = True  # a site's output depends only on its image

    def __init__(self, classifier: nn.Module, image: tuple[int, int, int]) -> None:
        super().__init__()
        self.classifier = classifier
        self.image = tuple(image)

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() != 5 or tuple(x.shape[2:]) != self.image:
            raise DataError(
                f"Inputs have shape {tuple(x.shape)}; this network reads (batch, sites, "
                f"{', '.join(map(str, self.image))}). Resize the images, or build the network for their size."
            )
        images = x.flatten(0, 1)
        if not images.is_floating_point():
            images = images.to(next((p.dtype for p in self.parameters()), torch.float32)) / 255
        if not torch.compiler.is_compiling():  # an exported graph should not depend on how images are stored
            # Channels last is the fastest layout. torch's own conversion would leave the strides of images with one
            # channel unchanged, and then the layers' outputs too.
            _, channels, height, width = images.shape
            strides = (channels * height * width, 1, width * channels, channels)
            images = images.permute(0, 2, 3, 1).contiguous().as_strided(images.shape, strides)
        scores: Tensor = self.classifier(images)
        return scores.view(x.shape[0], x.shape[1], -1)  # not len(x), which an export would take for a constant


@LAYERS.register("softground.Standardise")
class Standardise(nn.Module):
    """Subtract a mean and divide by a standard deviation, of all inputs or of each feature; both are saved with it.

    >>> layer = Standardise.to_fit(torch.tensor([[0, 255], [255, 0]], dtype=torch.uint8))
    >>> layer(torch.tensor([0.0, 0.5, 1.0]))
    tensor([-1.,  0.,  1.])
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, mean: float | Tensor, deviation: float | Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", torch.as_tensor(mean))
        self.register_buffer("deviation", torch.as_tensor(deviation))

    @classmethod
    def to_fit(cls, images: Tensor) -> Standardise:
        """Use one mean and one standard deviation of all pixels; bytes count as 0 … 1, as in a network."""
        pixels = images.double() / (1.0 if images.is_floating_point() else 255.0)
        deviation = float(pixels.std(correction=0))
        if not deviation > 0:
            raise DataError(
                f"The images' standard deviation is {deviation:g}; expected a positive number. Check whether they are "
                "all blank, or leave them as they are."
            )
        return cls(float(pixels.mean()), deviation)

    @classmethod
    def each_feature(cls, x: Tensor) -> Standardise:
        """Use the mean and standard deviation of each feature of ``[..., features]``; constant features become 0."""
        rows = x.reshape(-1, x.shape[-1]).float()
        return cls(rows.mean(0), rows.std(0, correction=0).clamp(min=1e-6))

    def forward(self, x: Tensor) -> Tensor:
        return (x.to(self.mean.dtype) - self.mean) / self.deviation


class RandomLayer(nn.Module):
    """The base of random layers; ``generator`` is the fit's during a fit, otherwise torch's global one."""

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
        self.p = nn.Dropout(p).p  # refuses a number that is no probability

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.p:
            return x
        kept = torch.empty_like(x).bernoulli_(1 - self.p, generator=self.generator)
        return x * kept.div_(1 - self.p) if self.p < 1 else x * kept

    def extra_repr(self) -> str:
        return f"p={self.p}"


@LAYERS.register("softground.GlobalAverage")
class GlobalAverage(nn.Module):
    """The mean of each map. Unlike torch's adaptive pooling, its gradient is deterministic on a GPU."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean((2, 3))


@IMAGE_NETWORKS.register("convnet")
def convnet(image: tuple[int, int, int], outputs: int, width: int = 32, dropout: float = 0.2) -> nn.Sequential:
    """Three stages of two 3×3 convolutions (``width``, 2·``width``, 4·``width`` maps), then global average pooling.

    With ``width=32`` it has about 290,000 parameters, for any image size.
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


@IMAGE_NETWORKS.register("lenet")
def lenet(image: tuple[int, int, int], outputs: int) -> nn.Sequential:
    """Two 5×5 convolutions (6 and 16 maps) with pooling, then 120, 84 and ``outputs`` units."""
    channels, height, width = image
    # Small images are padded so that two 5×5 convolutions and poolings leave something to read.
    pad = 2 if min(height, width) < 28 else 0
    rows, columns = (((side + 2 * pad - 4) // 2 + 2 * pad - 4) // 2 for side in (height, width))
    if min(rows, columns) < 1:
        raise DataError(f"LeNet-5 cannot read {height}×{width} images; give images of at least 8×8.")
    first = [nn.Conv2d(channels, 6, 5, padding=pad), nn.ReLU(), nn.MaxPool2d(2)]
    second = [nn.Conv2d(6, 16, 5, padding=pad), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    third = [nn.Linear(16 * rows * columns, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU()]
    return nn.Sequential(*first, *second, *third, nn.Linear(84, outputs))


@IMAGE_NETWORKS.register("strided")
def strided(image: tuple[int, int, int], outputs: int, width: int = 8) -> nn.Sequential:
    """Two 5×5 convolutions of stride 2 (``width`` and 2·``width`` maps), then 128 and ``outputs`` units.

    It does a twentieth of the work of :func:`~softground.networks.convnet`, for somewhat less accuracy. Unlike LeNet-5,
    it has normalisation, so it leaves the initial plateau of weak rules.
    """
    channels, height, breadth = image
    rows, columns = ((((side + 1) // 2) + 1) // 2 for side in (height, breadth))
    layers: list[nn.Module] = []
    for maps in (width, 2 * width):
        layers += [nn.Conv2d(channels, maps, 5, stride=2, padding=2, bias=False), nn.BatchNorm2d(maps), nn.ReLU()]
        channels = maps
    hidden = [nn.Flatten(), nn.Linear(channels * rows * columns, 128, bias=False), nn.BatchNorm1d(128), nn.ReLU()]
    return nn.Sequential(*layers, *hidden, nn.Linear(128, outputs))


def mlp(features: int, outputs: int, width: int = 128, dropout: float = 0.1) -> nn.Sequential:
    """Two hidden layers over the last axis, so that ``[batch, sites, features]`` gives ``[batch, sites, outputs]``.

    >>> import torch
    >>> mlp(features=16, outputs=10)(torch.zeros(2, 3, 16)).shape
    torch.Size([2, 3, 10])
    """
    first = [nn.Linear(features, width), nn.ReLU(), Dropout(dropout)]
    second = [nn.Linear(width, width), nn.ReLU(), Dropout(dropout)]
    return nn.Sequential(*first, *second, nn.Linear(width, outputs))


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

    The first three read one site at a time and learn from all sites together; prefer them if the input can be cut.
    Weights are drawn from torch's global generator, which :func:`softground.seeded` seeds for a block.

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
        each = shape[0] // sites
        if sites > 1 and shape[0] % sites == 0 and each >= PIXELS and math.isqrt(each) ** 2 == each:
            side = math.isqrt(each)
            warnings.warn(
                f"Rows of {shape[0]} numbers are read as a whole. If each of the {sites} sites has {each} of them, one "
                f"network can read site by site and learns far better: give x.reshape(-1, {sites}, 1, {side}, {side}), "
                f"or site_shape=(1, {side}, {side}) to SoftGrounder.",
                stacklevel=2,
            )
        head = nn.Unflatten(1, (sites, outputs))
        return nn.Sequential(Standardise.each_feature(x), mlp(shape[0], sites * outputs), head)
    raise DataError(
        f"Inputs of shape {tuple(x.shape)} were given for {sites} sites; expected (n, {sites}, channels, height, width)"
        f" for images, (n, {sites}, features) or (n, features). Reshape them, or give a network of your own."
    )
