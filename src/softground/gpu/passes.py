r"""The forward and the backward pass of a network, each played back from a recording on a GPU.

Forward, a recording gives the output f_θ(x); backward, another one takes the slope ∂ℓ/∂f and leaves ∂ℓ/∂θ where an
optimiser looks for it. To whatever makes a loss of the output in between it is an ordinary function on the tape. What a
network decides in Python, such as which of its layers to leave out, would be decided once for all; so only networks of
known layers are recorded.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from .recorded import recordable, recording, rehearsed, taken

SHAPES_KEPT = 16  # recordings of a network: batches, and last batches, of several lengths


class Passes:
    """``function(x)``, which calls the ``network``, with its two passes recorded on a GPU.

    ``generators()`` are those that it draws from. Gradients are overwritten by the next backward pass, so that they
    cannot be added up over batches. ``norm`` is that of the last gradient.
    """

    def __init__(
        self, function: Callable[[Tensor], Tensor], network: nn.Module, generators: Callable[[], list[torch.Generator]]
    ) -> None:
        self.function, self.network, self.generators = function, network, generators
        self._recordings: dict[Any, _Recording] = {}
        self.norm: Tensor | None = None
        self._pool: Any = None  # recordings are played one after the other, and can share their memory

    def __call__(self, x: Tensor) -> Tensor:
        """The output, attached to the tape. Raises ``NotRecordable`` where it cannot be recorded."""
        if not recordable(x):
            self.norm = None
            return self.function(x)
        key = tuple(x.shape), x.dtype
        if key not in self._recordings:
            while len(self._recordings) >= SHAPES_KEPT:
                self._recordings.pop(next(iter(self._recordings)))
            generators = self.generators()
            self._pool = self._pool or torch.cuda.graph_pool_handle()
            with recording(generators, self.network.buffers()):
                weights = [weight for weight in self.network.parameters() if weight.requires_grad]
                self._recordings[key] = _Recording(self.function, x, weights, generators, self._pool)
        played = self._recordings[key]
        self.norm = played.norm
        output: Tensor = _Played.apply(played, x, *played.weights)  # type: ignore[no-untyped-call]
        return output


class _Recording:
    def __init__(
        self,
        function: Callable[[Tensor], Tensor],
        x: Tensor,
        weights: Sequence[Tensor],
        generators: Sequence[torch.Generator],
        pool: Any,
    ) -> None:
        self.x, self.weights = x.clone(), weights

        def back(output: Tensor, slope: Tensor) -> tuple[Tensor, tuple[Tensor | None, ...]]:
            found = torch.autograd.grad(output, weights, slope, allow_unused=True)
            gradients = tuple(None if g is None else _stored_like(w, g) for w, g in zip(weights, found, strict=True))
            return get_total_norm([g for g in gradients if g is not None]), gradients

        def both() -> None:
            output = function(self.x)
            back(output, torch.ones_like(output))

        rehearsed(both)
        self.forward, self.output = taken(lambda: function(self.x), generators, pool)
        self.slope = torch.zeros_like(self.output)
        self.backward, (self.norm, self.gradients) = taken(lambda: back(self.output, self.slope), (), pool)


def _stored_like(weight: Tensor, gradient: Tensor) -> Tensor:
    """A gradient stored as its weight is, as fused optimisers want it; that of a sum is one number, seen often."""
    return gradient if gradient.stride() == weight.stride() else torch.empty_like(weight).copy_(gradient)


class _Played(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, played: _Recording, x: Tensor, *weights: Tensor) -> Tensor:
        context.played = played
        played.x.copy_(x)
        played.forward.replay()
        output: Tensor = played.output.detach().clone()  # the next batch overwrites it
        return output

    @staticmethod
    def backward(context: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        played = context.played
        played.slope.copy_(slopes[0])
        played.backward.replay()
        for weight, gradient in zip(played.weights, played.gradients, strict=True):
            weight.grad = gradient
        return None, None, *[None] * len(played.weights)
