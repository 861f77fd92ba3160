r"""Gradient steps from the batches of an epoch: accumulation, clipping, the learning rate.

With ``accumulate`` k, the gradients of k batches are averaged before the optimiser takes a step; the last group of an
epoch may be smaller. A batch of b examples counts by its share of the group's B,

.. math:: g = \sum_{\text{batches}} \frac{b}{B}\, \nabla L_\text{batch},

so that a loss which is a mean over examples has the gradient of one batch of B. Chains walk with every batch, and what
is normalised over a batch (batch normalisation, baselines) sees the small ones. With ``clip`` c, a gradient g of a
larger norm becomes g · c/‖g‖.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..errors import NonFiniteOutput

if TYPE_CHECKING:
    from .loop import Loop
    from .stage import Stage


LARGEST = torch.finfo(torch.float32).max


@dataclass(frozen=True)
class OneCycle:
    """Rise linearly over the first ``warm`` share of the stage, then fall along a cosine to ``end``.

    >>> rate = OneCycle(warm=0.25, end=0.0)
    >>> [round(rate(p), 3) for p in (0.0, 0.125, 0.25, 0.625, 1.0)]
    [0.04, 0.52, 1.0, 0.5, 0.0]
    """

    warm: float = 0.2
    end: float = 0.01

    def __call__(self, progress: float) -> float:
        """The factor on the optimiser's own rate."""
        if progress < self.warm:
            return 0.04 + 0.96 * progress / self.warm
        angle = math.pi * (progress - self.warm) / (1 - self.warm)
        return self.end + (1 - self.end) * (1 + math.cos(angle)) / 2


one_cycle = OneCycle
"""See :class:`~softground.learner.OneCycle`."""


class Descent:
    """The gradient steps of one epoch, whose batches have these ``sizes``; ``base`` are the optimiser's own rates.

    ``epoch`` is counted without those in which the schedule stands still.
    """

    def __init__(self, loop: Loop, stage: Stage, epoch: int, base: list[float], sizes: Sequence[int]) -> None:
        self.loop, self.stage, self.epoch, self.base, self.sizes = loop, stage, epoch, base, sizes
        self.every = loop.learner.accumulate
        self.groups = math.ceil(len(sizes) / self.every)

    def apart(self, step: int) -> AbstractContextManager[None]:
        """For forward and backward passes: processes average their gradients once, with the last batch of a group."""
        last = (step + 1) % self.every == 0 or step + 1 == len(self.sizes)
        context: AbstractContextManager[None] = self.loop.fabric.no_backward_sync(self.loop.module, enabled=not last)
        return context

    def learn(self, loss: Tensor, step: int) -> None:
        """Add the gradient of a batch's loss; after the last batch of a group, step."""
        loop, (group, place) = self.loop, divmod(step, self.every)
        if place == 0:
            loop.optimizer.zero_grad()
        own = self.sizes[group * self.every : (group + 1) * self.every]
        loop.fabric.backward(loss if len(own) == 1 else loss * (self.sizes[step] / sum(own)))
        loop.outputs.watch.learn(loss, loop.network, loop.outputs.norm)
        if place + 1 < len(own):
            return
        if self.stage.learning_rate is not None:
            progress = (self.epoch + group / self.groups) / self.stage.epochs
            set_learning_rate(loop.optimizer, self.base, self.stage.learning_rate(progress))
        if loop.learner.clip:
            # What is not finite has been found already; on a GPU, asking again would wait for it.
            loop.fabric.clip_gradients(
                loop.module, loop.optimizer, max_norm=loop.learner.clip, error_if_nonfinite=False
            )
        loop.optimizer.step()


def set_learning_rate(optimizer: Any, base: list[float], factor: float) -> None:
    """Scale each parameter group's own rate."""
    for group, rate in zip(optimizer.param_groups, base, strict=True):
        if not abs(rate * factor) <= LARGEST:
            raise NonFiniteOutput(
                f"Its learning rate is {float(rate):g} times {factor:g}; expected a finite number. Correct the factor, "
                "which is the stage's learning_rate."
            )
        group["lr"] = rate * factor
