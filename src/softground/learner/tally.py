"""An epoch's record: the figures of its batches, added up on the device, and the time of their parts.

Several batches are added up together, because every addition launches a kernel on a GPU.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..figures import flat_names
from ..files import Json
from ..inverses.base import solver_behind
from ..training.first_states import WAITING
from ..training.step import Batch, Moment
from .stage import Stage
from .trained_part import TrainedPart

if TYPE_CHECKING:
    from lightning_fabric import Fabric

TOGETHER = 64  # batches added up at a time
Names = tuple[tuple[str, int], ...]  # the names of a batch's numbers, and their lengths


class Stopwatch:
    """Add up the time of named parts. On a GPU, it records events and waits for them only when read."""

    def __init__(self, device: torch.device) -> None:
        self._cuda = device.type == "cuda"
        self._now: Callable[[], Any] = _event if self._cuda else time.perf_counter
        self._seconds: dict[str, float] = defaultdict(float)
        self._events: list[tuple[str, torch.cuda.Event, torch.cuda.Event]] = []
        self._last: Any = None

    def begin(self) -> None:
        """Begin a part."""
        self._last = self._now()

    def lap(self, part: str) -> None:
        """End a part under this name, and begin another."""
        now = self._now()
        if self._cuda:
            self._events.append((part, self._last, now))
        else:
            self._seconds[part] += now - self._last
        self._last = now

    def read(self) -> dict[str, float]:
        """Seconds per part since the last reading."""
        if self._events:
            torch.cuda.synchronize()
            for part, begin, end in self._events:
                self._seconds[part] += begin.elapsed_time(end) / 1000
            self._events.clear()
        seconds, self._seconds = dict(self._seconds), defaultdict(float)
        return seconds


def _event() -> torch.cuda.Event:
    event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
    event.record()
    return event


class Tally:
    """Sums over one epoch of the trained parts."""

    def __init__(self, parts: Sequence[TrainedPart], stopwatch: Stopwatch, fabric: Fabric) -> None:
        self.parts, self.stopwatch, self.fabric = parts, stopwatch, fabric
        self._batches: dict[Names, list[Tensor]] = {}  # not added up yet
        self._sums: dict[str, Tensor] = {}
        self._counts = Counter[str]()  # numbers in each sum
        self._read: dict[TrainedPart, list[tuple[Tensor, Tensor]]] = {part: [] for part in parts}
        self._solver = self._solver_seconds

    @property
    def _solver_seconds(self) -> float:
        return sum(s.solver_seconds for part in self.parts if (s := solver_behind(part.task.inverse)))

    def add(self, part: TrainedPart, batch: Batch) -> None:
        """Add a batch's figures, each for all or some examples, and the network's readings."""
        if not batch.counts:
            return
        self._read[part].append((batch.index, batch.read))
        figures = batch.figures
        if part.shape is not None:
            figures |= flat_names({"loss": figures["loss"]}, shape=part.shape)
        names = tuple(zip(figures, map(len, figures.values()), strict=True))
        batches = self._batches.setdefault(names, [])
        batches.append(torch.cat([*map(Tensor.float, figures.values())]))
        if len(batches) >= TOGETHER:
            self._add_up()

    def _look(self) -> None:
        """Check the epoch's predictions against the rule, all batches at once."""
        for part, batches in self._read.items():
            if not batches:
                continue
            index, read = (torch.cat(each) for each in zip(*batches, strict=True))
            figures = {"feasible": part.task.feasible(read, part.y[index]).float()}
            symbols, known = part.data.symbols, part.data.known
            if symbols is not None and part.task.space.categorical:  # reals are never exactly correct
                right = (read == symbols[index]).float()
                right = right if known is None else right * (known[index] < 0) * part.unknown
                figures["train_symbol_accuracy"] = right.mean(1)
            if part.shape is not None:
                figures |= flat_names(figures, shape=part.shape)
            for name, values in figures.items():
                self._count(name, values.sum(dtype=torch.double), len(values))

    def _add_up(self) -> None:
        for names, batches in self._batches.items():
            whole = torch.stack(batches).sum(0, dtype=torch.double)
            sums = torch.split(whole, [count for _, count in names])
            for (name, count), each in zip(names, sums, strict=True):
                self._count(name, each.sum(), count * len(batches))
        self._batches.clear()

    def _count(self, name: str, total: Tensor, count: int) -> None:
        self._sums[name] = self._sums.get(name, 0) + total
        self._counts[name] += count

    def record(self, stage: Stage, epoch: int, moment: Moment) -> Json:
        """The epoch's averages over all processes, and this one's seconds."""
        self._add_up()
        self._look()
        more: dict[str, Tensor] = {}
        record: Json = {"stage": stage.name, "epoch": epoch}
        for part in self.parts:
            record |= part.teacher.numbers(moment)  # the same for all shapes
            for term in part.terms:
                record |= term.numbers(moment)
            asked = solver_behind(part.task.inverse)
            for name, count in asked.faults.items() if asked else ():
                if count:
                    record[f"solver_{name}"] = record.get(f"solver_{name}", 0) + count
            for name, lacking in part.unexplained.counted(part.memory[moment.stage].get(WAITING)).items():
                more[name] = more.get(name, 0) + lacking.double()
        found = self._averaged(more)
        record |= {name: round(value) if name in more else value for name, value in found.items()}
        solver, parts = self._solver_seconds - self._solver, self.stopwatch.read()
        record["seconds"] = {
            "network": parts.get("network", 0.0),
            "sampling": max(0.0, parts.get("sampling", 0.0) - solver),
            "solver": solver,
        }
        return record

    def _averaged(self, more: dict[str, Tensor]) -> dict[str, float]:
        """Average the batches' numbers and sum ``more`` over all processes, reading the device once."""
        # Sorted, because processes meet the shapes in different orders but must add up the same names.
        every = sorted(self._sums)
        counts = torch.tensor([self._counts[name] for name in every], dtype=torch.double)
        read = [self._sums[name] for name in every] + [value.double() for value in more.values()]
        found = torch.cat([torch.stack(read).cpu() if read else counts, counts])
        if self.fabric.world_size > 1:
            found = self.fabric.all_reduce(found.to(self.fabric.device), reduce_op="sum").cpu()  # type: ignore[union-attr]
        whole, rest, number = torch.split(found, [len(every), len(more), len(every)])
        means = (whole / number.clamp(min=1)).tolist()
        return dict(zip([*every, *more], [*means, *rest.tolist()], strict=True))
