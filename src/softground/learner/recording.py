r"""The second half of a training step, played back from a recording on a GPU.

A recording begins at the network's output f and ends at the loss ℓ and its slope ∂ℓ/∂f, from which the network's own
backward pass goes on. Everything in between is many small operations. Nothing else in training knows that it may be
recorded: a rehearsal finds out whether it asks the device for values. Numbers that come from Python, such as γ, are
part of a recording, and others need another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..dice import Sampler
from ..gpu.recorded import NotRecordable, Recorded, recordable
from ..gpu.rehearsal import asks_nothing
from ..training.step import Batch, Half, Teacher, Term, untimed

KEPT = 4  # recordings for other numbers and other parts of the data
PATIENCE = 3  # batches with the same numbers before these are worth a recording


class RecordedHalf:
    """A ``half`` of the step that is played back where it can be; otherwise it is simply called.

    ``dice`` roll in it, and besides the batch's memory it changes the tensors of ``memory`` in place.
    """

    def __init__(self, half: Half, dice: Sampler, memory: Sequence[Tensor] = ()) -> None:
        self.half, self.dice, self.memory = half, dice, memory
        self.pending = 0  # batches with the newest numbers
        self._last: Any = None  # the numbers of the batch before; those that change every time are not worth a look
        self._recorded: dict[Any, _Recording | None] = {}  # None where the work asks the device for values

    def __call__(self, batch: Batch, teacher: Teacher, terms: Sequence[Term]) -> Tensor:
        if not recordable(batch.output):
            return self.half(batch, teacher, terms)
        parts: list[Teacher | Term] = [teacher, *terms]
        numbers = [tuple(each.numbers(batch.moment).items()) for each in parts]
        key = (id(batch.task), batch.moment.stage, *numbers)
        before, self._last = self._last, key
        self.pending = self.pending + 1 if key == before else 0
        if key not in self._recorded and self.pending >= PATIENCE:
            while len(self._recorded) >= KEPT:
                self._recorded.pop(next(iter(self._recorded)))
            able = self._rehearsed(batch, teacher, terms)
            self._recorded[key] = _Recording(self, teacher, terms) if able else None
        played = self._recorded.get(key)
        if played is None:
            return self.half(batch, teacher, terms)
        try:
            return played(batch)
        except NotRecordable as error:
            self._recorded[key] = None
            self.dice.renew(error.places[0])
            return self.half(batch, teacher, terms)

    def _rehearsed(self, batch: Batch, teacher: Teacher, terms: Sequence[Term]) -> bool:
        """Whether the batch's work asks the device for nothing. Memory and dice are afterwards as they were."""
        kept, place = [(part, part.clone()) for part in self.memory], self.dice.generator.get_state()
        leaf = batch.output.detach().requires_grad_()
        memory = {name: rows.clone() for name, rows in batch.memory.items()}
        tried = replace(batch, output=leaf, memory=memory, losses=[], figures={}, lap=untimed)
        able = asks_nothing(lambda: torch.autograd.grad(self.half(tried, teacher, terms), leaf))
        self.dice.generator.set_state(place)
        for part, before in kept:
            part.copy_(before)
        return able


class _Recording:
    """The recordings of one half of a step, for batches of several lengths."""

    def __init__(self, of: RecordedHalf, teacher: Teacher, terms: Sequence[Term]) -> None:
        self.of, self.teacher, self.terms = of, teacher, terms
        self.names: dict[int, list[tuple[str, int]]] = {}  # of the figures, by the length of a batch
        self._batch: Batch | None = None

    def __call__(self, batch: Batch) -> Tensor:
        self._batch = batch
        if not hasattr(self, "recorded"):
            memory = [*batch.memory.values(), *self.of.memory]
            self.recorded = Recorded(self._work, lambda: self.of.dice.generator, lambda: memory)
        loss, slope, read, numbers = self.recorded(*_tensors(batch))
        names, batch.read = self.names[len(batch.index)], read.clone()
        parts = numbers.clone().split([length for _, length in names])  # the next batch overwrites them
        batch.figures |= {name: part for (name, _), part in zip(names, parts, strict=True)}
        played: Tensor = _Played.apply(batch.output, loss.clone(), slope.clone())  # type: ignore[no-untyped-call]
        return played

    def _work(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        assert self._batch is not None
        batch = _with_tensors(self._batch, tensors)
        with torch.enable_grad():
            leaf = batch.output = batch.output.detach().requires_grad_()
            loss = self.of.half(batch, self.teacher, self.terms)
            (slope,) = torch.autograd.grad(loss, leaf)
        self.names[len(batch.index)] = [(name, len(value)) for name, value in batch.figures.items()]
        return loss.detach(), slope, batch.read, torch.cat([value.float() for value in batch.figures.values()])


def _tensors(batch: Batch) -> list[Tensor]:
    """All that differs between batches."""
    given = [batch.output, batch.index, batch.y, batch.known, batch.symbols]
    return [*(each for each in given if each is not None), *(codes for _, codes in batch.added.values())]


def _with_tensors(batch: Batch, tensors: Sequence[Tensor]) -> Batch:
    """The batch with other :func:`_tensors`."""
    rest = iter(tensors)
    names = [name for name in ("output", "index", "y", "known", "symbols") if getattr(batch, name) is not None]
    found: dict[str, Any] = {name: next(rest) for name in names}
    added = {term: (rows, next(rest)) for term, (rows, _) in batch.added.items()}
    return replace(batch, **found, added=added, losses=[], figures={}, lap=untimed)


class _Played(torch.autograd.Function):
    """A loss whose slope is known already."""

    @staticmethod
    def forward(context: Any, output: Tensor, loss: Tensor, slope: Tensor) -> Tensor:
        context.save_for_backward(slope)
        return loss

    @staticmethod
    def backward(context: Any, *slopes: Tensor) -> tuple[Tensor, None, None]:
        (slope,) = context.saved_tensors
        return slope * slopes[0], None, None
