r"""What a batch's output is worth: belief, loss, and the numbers for the books; on a GPU in one recording.

A recording begins at the network's output f and ends at the loss ℓ and its slope ∂ℓ/∂f, from which the network's own
backward pass goes on. Everything in between is many small operations. It can be recorded where the objective and its
kernel do not ask the device for values (:meth:`~softground.objectives.Objective.static`). Numbers that come from
Python, such as γ, are part of a recording, and others need another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..beside import beside
from ..gpu.recorded import NotRecordable, Recorded, inline, recordable
from ..objectives.base import Batch, Stopwatch
from .finite import FiniteOutputs, masked

if TYPE_CHECKING:
    from ..dice import Sampler
    from .training import Training

NUMBERS_KEPT = 2  # recordings for different γ
PATIENCE = 3  # batches with the same numbers before these are worth a recording


@dataclass(frozen=True)
class Moment:
    """Where in training a batch stands."""

    number: int  # of the stage
    tick: int  # how far γ has come
    level: float  # of noise
    share: float  # of the stage that is over


@dataclass(frozen=True, eq=False)
class Judged:
    """A batch's loss, and numbers per example by name, one after the other in ``numbers``."""

    loss: Tensor
    names: tuple[tuple[str, int], ...]
    numbers: Tensor
    slope: Tensor | None = None  # ∂loss/∂output, where the loss is not on the tape


class Judge:
    """Judges the outputs of a part of the training set."""

    def __init__(self, part: Training, dice: Sampler) -> None:
        self.part, self.dice = part, dice
        self.refused = False
        self.pending = 0  # batches with the newest numbers, while these wait for their recording
        self._last: Any = None  # the numbers of the batch before; those that change every time are not worth a look
        self._recorded: dict[Any, _Whole | None] = {}

    def __call__(
        self,
        output: Any,
        index: Tensor,
        rows: Tensor,
        anchors: Tensor | None,
        moment: Moment,
        watch: FiniteOutputs,
        stopwatch: Stopwatch,
    ) -> Judged:
        """The judgement of an output for the examples ``index``, and the ``anchors`` after them: all are ``rows``."""
        inputs = [output, index, rows] + ([] if anchors is None else [anchors])
        found = None
        if not self.refused and recordable(*inputs):
            with stopwatch("sampling" if self.part.objectives[moment.number].weak else "network"):
                found = self._whole(inputs, moment)
        if found is not None:
            watch.watched(found[1])
            return found[0]
        safe = watch.watch(output) if isinstance(output, Tensor) else output
        return self.plain(safe, index, rows, anchors, moment, stopwatch)

    def _whole(self, inputs: list[Any], moment: Moment) -> tuple[Judged, Tensor] | None:
        """The judgement in one recording, where that is possible and worth it, and which rows were finite."""
        before, self._last = self._last, self.part.numbers(moment)
        if (key := self._last) is None or (key != before and key not in self._recorded):
            self.pending = 0
            return None
        if key not in self._recorded:
            while len(self._recorded) >= NUMBERS_KEPT:
                self._recorded.pop(next(iter(self._recorded)))
            output, index, rows, *_ = inputs
            with torch.no_grad():
                belief = self.part.task.space.belief(masked(output)[0][: len(index)], finite=True)
                static = self.part.static(self._batch(belief, index, rows, moment, _untimed), moment)
            self._recorded[key], self.pending = _Whole(self, moment) if static else None, 0
        if (whole := self._recorded[key]) is None:
            self.pending = 0
            return None
        if self.pending < PATIENCE:
            self.pending += 1
            return None
        try:
            return whole(inputs)
        except NotRecordable as error:
            self.refused, self.pending = True, 0
            self.dice.renew(error.places[0])
            return None

    def _batch(self, belief: Any, index: Tensor, rows: Tensor, moment: Moment, stopwatch: Stopwatch) -> Batch:
        part = self.part
        symbols = None if part.data.symbols is None else part.data.symbols[index]
        return Batch(index, belief, part.y[index], symbols, moment.tick, self.dice, stopwatch, rows[: len(index)])

    def plain(
        self, output: Any, index: Tensor, rows: Tensor, anchors: Tensor | None, moment: Moment, stopwatch: Stopwatch
    ) -> Judged:
        """The judgement of an output that is finite; its loss is on the tape."""
        belief = self.part.task.space.belief(output, finite=True)
        batch = self._batch(belief, index, rows, moment, stopwatch)
        with inline() if self.pending else nullcontext():  # what could be recorded by itself is to be part of the whole
            loss, more = self.part.loss(batch, output, anchors, moment)
        own = belief if anchors is None else belief.rows(slice(len(index)))
        with beside(batch, own, loss, lane="books"):
            seen = self._seen_in(replace(batch, belief=own), loss)
        with beside(more, lane="books", after="draws"):
            numbers = seen | {name: value.detach() for name, value in more.items()}
            flat = torch.cat([value.float() for value in numbers.values()])
        return Judged(loss, tuple((name, len(value)) for name, value in numbers.items()), flat)

    def _seen_in(self, batch: Batch, loss: Tensor) -> dict[str, Tensor]:
        """What the network reads by itself."""
        part, index = self.part, batch.index
        with torch.no_grad():
            read = batch.belief.mode()
            seen: dict[str, Tensor] = {
                "loss": loss.detach().expand(len(index)),
                "feasible": part.task.feasible(read, batch.y),
            }
            if batch.symbols is not None and part.task.space.categorical:  # reals are never exactly right
                seen["train_symbol_accuracy"] = part.labels.unknown((read == batch.symbols).float(), index)
            return seen | ({part.prefix + name: value for name, value in seen.items()} if part.prefix else {})


class _Whole:
    """The recording of all that is done at a moment."""

    def __init__(self, judge: Judge, moment: Moment) -> None:
        self.judge, self.moment = judge, moment
        self.names: dict[Any, tuple[tuple[str, int], ...]] = {}
        memory = judge.part.memory(moment.number)
        self.recorded = Recorded(self._work, lambda: judge.dice.generator, lambda: memory)

    def __call__(self, inputs: list[Tensor]) -> tuple[Judged, Tensor]:
        loss, slope, good, numbers = self.recorded(*inputs)
        return Judged(loss, self.names[_shapes(inputs)], numbers.clone(), slope), good

    def _work(self, output: Tensor, index: Tensor, rows: Tensor, *anchors: Tensor) -> tuple[Tensor, ...]:
        with torch.enable_grad():
            leaf = output.detach().requires_grad_()
            safe, good = masked(leaf)
            judged = self.judge.plain(safe, index, rows, anchors[0] if anchors else None, self.moment, _untimed)
            (slope,) = torch.autograd.grad(judged.loss, leaf)
        self.names[_shapes([output, index, rows, *anchors])] = judged.names
        return judged.loss.detach(), slope, good, judged.numbers


def _untimed(part: str) -> Any:
    return nullcontext()


def _shapes(inputs: Sequence[Tensor]) -> tuple[Any, ...]:
    return tuple(tuple(part.shape) for part in inputs)
