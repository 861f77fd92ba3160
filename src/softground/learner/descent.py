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
from typing import TYPE_CHECKING

from torch import Tensor

from .finite import FiniteOutputs
from .judging import Judged
from .stage import Stage, set_learning_rate

if TYPE_CHECKING:
    from .loop import Loop


class Descent:
    """The gradient steps of one epoch, whose batches have these ``sizes``; ``base`` are the optimiser's own rates.

    ``epoch`` is counted without those in which the schedule stands still.
    """

    def __init__(
        self, loop: Loop, stage: Stage, epoch: int, base: list[float], watch: FiniteOutputs, sizes: Sequence[int]
    ) -> None:
        self.loop, self.stage, self.epoch, self.base, self.watch, self.sizes = loop, stage, epoch, base, watch, sizes
        self.every = loop.learner.accumulate
        self.groups = math.ceil(len(sizes) / self.every)

    def apart(self, step: int) -> AbstractContextManager[None]:
        """For forward and backward passes: processes average their gradients once, with the last batch of a group."""
        context: AbstractContextManager[None] = self.loop.fabric.no_backward_sync(
            self.loop.module, enabled=not self._last(step)
        )
        return context

    def learn(self, judged: Judged, output: Tensor, step: int) -> None:
        """Add the gradient of a batch's loss; after the last batch of a group, step."""
        loop, (group, place) = self.loop, divmod(step, self.every)
        if place == 0:
            loop.optimizer.zero_grad()
        own = self.sizes[group * self.every : (group + 1) * self.every]
        # The loss, or its slope where only that was recorded.
        tip, *slope = [judged.loss] if judged.slope is None else [output, judged.slope]
        if len(own) > 1:
            weight = self.sizes[step] / sum(own)
            tip, slope = (tip, [each * weight for each in slope]) if slope else (tip * weight, [])
        with self.apart(step):
            loop.fabric.backward(tip, *slope)
        self.watch.learn(judged.loss, loop.network, loop.outputs.norm)
        if not self._last(step):
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

    def _last(self, step: int) -> bool:
        return (step + 1) % self.every == 0 or step + 1 == len(self.sizes)
