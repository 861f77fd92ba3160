"""Layers that torch lacks: one classifier for every site, standardised inputs, and dropout with a generator of its own.

**Random layers.** torch's dropout draws from one generator that all threads share, so that simultaneous fits disturb
each other. These layers do not: one seed gives one result, whatever else runs.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..errors import DataError
from .blueprint import LAYERS


@LAYERS.register("softground.PerSite")
class PerSite(nn.Module):
    """Apply an image classifier to each site: ``[batch, sites, channels, h, w]`` to ``[batch, sites, outputs]``.

    Byte images are scaled to 0 … 1 here, on the network's device, so that data stay small until they are used.
    """

    image_by_image = True  # what is read at a site depends on its image alone

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
            # Store images pixel by pixel, as layers are fastest. torch's own conversion would leave the strides of
            # images with one channel as they are, and then the layers' outputs too.
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
        """With one mean and one standard deviation of all pixels; bytes count as 0 … 1, as a network sees them."""
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
        """With the mean and standard deviation of each feature of ``[..., features]``; constant features become 0."""
        rows = x.reshape(-1, x.shape[-1]).float()
        return cls(rows.mean(0), rows.std(0, correction=0).clamp(min=1e-6))

    def forward(self, x: Tensor) -> Tensor:
        return (x.to(self.mean.dtype) - self.mean) / self.deviation


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
