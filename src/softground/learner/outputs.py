"""A training batch's way through the network: distortion and forward pass, on a GPU recorded with the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor

from ..data.augment import RandomAffine
from ..data.gathered import Gathered
from ..gpu import NotRecordable, Passes
from ..networks.blueprint import of_known_layers
from ..networks.dropout import draw_from
from .device import PRECISIONS
from .evaluation import each_once, output_of

if TYPE_CHECKING:
    from .loop import Loop


class Outputs:
    """The network's outputs for the batches of a stage.

    Its passes are recorded (:class:`~softground.gpu.Passes`) on one GPU, if it is made of layers that do the same every
    time, and gradients are not added up over batches.
    """

    def __init__(self, loop: Loop) -> None:
        self.loop, learner = loop, loop.learner
        fabric, network = loop.fabric, loop.network
        alone = fabric.device.type == "cuda" and fabric.world_size == 1 and learner.accumulate == 1
        self.passes: Passes | None = None
        if alone and of_known_layers(network) and learner.precision in PRECISIONS:
            self.passes = Passes(self._recorded, network, lambda: [loop.streams.distortion, loop.streams.chance])

    def __call__(self, x: Any) -> Any:
        """The output for inputs x, attached to the gradient tape."""
        if isinstance(x, Gathered):  # with one distortion for each image, however many rows show it
            return each_once(self.loop.network, x, self)
        own = self.loop.learner.augment
        if own is not None and not isinstance(own, RandomAffine):
            x = own(x, self.loop.streams.distortion)  # which may be different every time
        if self.passes is not None and isinstance(x, Tensor):
            try:
                return self.passes(x)
            except NotRecordable as error:
                self.passes = None
                self.loop.streams.renew(*error.places)
                draw_from(self.loop.network, self.loop.streams.chance)
        return output_of(self.loop.module, self._distorted(x))

    @property
    def norm(self) -> Tensor | None:
        """The norm of the last gradient, where it is known without another look."""
        return None if self.passes is None else self.passes.norm

    def _distorted(self, x: Any) -> Any:
        augment = self.loop.learner.augment
        return augment(x, self.loop.streams.distortion) if isinstance(augment, RandomAffine) else x

    def _recorded(self, x: Tensor) -> Any:
        # Not Fabric's module, whose outputs insist on Fabric's way back; alone, it adds nothing but the precision.
        with self.loop.fabric.autocast():
            output = output_of(self.loop.network, self._distorted(x))
        return output
