"""What the batches of an epoch showed, added up on the device, and how long their parts took: the epoch's record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..objectives.base import CHAINS
from ..objectives.starts import WAITING
from .stage import Stage
from .stopwatch import Stopwatch

if TYPE_CHECKING:
    from .loop import Loop


class Tally:
    """Sums over one epoch of a loop."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.stopwatch = loop, Stopwatch(loop.fabric.device)
        self._sums: dict[str, Tensor] = {}
        self._counts: dict[str, int] = {}
        self._solver = loop.task.inverse.solver_seconds

    def add(self, index: Tensor, belief: Any, loss: Tensor, more: Mapping[str, Tensor]) -> None:
        """A batch: what the network reads by itself, and ``more`` numbers per example, or for some of the examples."""
        loop, symbols = self.loop, self.loop.train.symbols
        with torch.no_grad():
            read = belief.mode()
            seen = {"loss": loss.detach().expand(len(index)), "feasible": loop.task.feasible(read, loop.y[index])}
            if symbols is not None and loop.task.space.categorical:  # reals are never exactly right
                seen["train_symbol_accuracy"] = loop.labels.unknown((read == symbols[index]).float(), index)
            for name, value in (seen | dict(more)).items():
                self._sums[name] = self._sums.get(name, 0) + value.detach().double().sum()
                self._counts[name] = self._counts.get(name, 0) + len(value)

    def record(self, stage: Stage, epoch: int) -> dict[str, Any]:
        """The epoch's averages over all processes, and this one's seconds."""
        loop, symbols = self.loop, self.loop.train.symbols

        def mean(value: Tensor) -> float:
            return float(loop.fabric.all_reduce(value, reduce_op="mean"))  # type: ignore[arg-type]

        means = {name: mean(total / max(1, self._counts[name])) for name, total in self._sums.items()}
        record: dict[str, Any] = {"stage": stage.name, "epoch": epoch} | stage.objective.settings(epoch) | means
        state, own = stage.objective.state(), loop.own.to(loop.fabric.device)
        chains, waiting = state.get(CHAINS), state.get(WAITING)
        for name, value in loop.unexplained.counted(waiting, own).items():
            record[name] = round(mean(value.double()) * loop.fabric.world_size)
        if chains is not None and symbols is not None and loop.task.space.categorical:
            held = own if waiting is None else own[waiting[own] == 0]
            right = loop.labels.unknown((chains[held] == symbols[held]).double(), held)
            record["grounded_symbols"] = mean(right.sum() / max(1, len(held)))
        solver, parts = loop.task.inverse.solver_seconds - self._solver, self.stopwatch.read()
        record["seconds"] = {
            "network": parts.get("network", 0.0),
            "sampling": max(0.0, parts.get("sampling", 0.0) - solver),
            "solver": solver,
        }
        return record
