"""One network for every site: read a symbol's image, whatever its place in the vector."""

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
