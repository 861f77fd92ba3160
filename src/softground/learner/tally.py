"""What the batches of an epoch showed, added up on the device, and how long their parts took: the epoch's record.

Numbers of several batches are kept and added up together: on a GPU every addition is a kernel to be handed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..objectives.base import CHAINS
from ..objectives.starts import WAITING
from .judging import Judged
from .stage import Stage
from .stopwatch import Stopwatch

if TYPE_CHECKING:
    from .loop import Loop

TOGETHER = 64  # batches whose numbers are added up at a time


class Tally:
    """Sums over one epoch of a loop."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.stopwatch = loop, Stopwatch(loop.fabric.device)
        self._sums: dict[str, Tensor] = {}
        self._counts: dict[str, int] = {}
        self._batches: dict[tuple[tuple[str, int], ...], list[Tensor]] = {}  # by names and how many numbers each has
        self._count = 0
        self._solver = self._solver_seconds

    @property
    def _solver_seconds(self) -> float:
        return sum(part.task.inverse.solver_seconds for part in self.loop.parts)

    def add(self, judged: Judged) -> None:
        """The numbers of a batch, each for all or for some of its examples."""
        self._batches.setdefault(judged.names, []).append(judged.numbers)
        self._count += 1
        if self._count % TOGETHER == 0:
            self._add_up()

    def _add_up(self) -> None:
        kept: dict[str, list[Tensor]] = {}
        for names, batches in self._batches.items():
            parts = torch.split(torch.stack(batches), [count for _, count in names], 1)
            for (name, _), part in zip(names, parts, strict=True):
                kept.setdefault(name, []).append(part.flatten())
        for name, values in kept.items():
            self._sums[name] = self._sums.get(name, 0) + torch.cat(values).sum(dtype=torch.double)
            self._counts[name] = self._counts.get(name, 0) + sum(map(len, values))
        self._batches.clear()

    def record(self, stage: Stage, epoch: int, tick: int) -> dict[str, Any]:
        """The epoch's averages over all processes, and this one's seconds; ``tick`` is how far the schedule is."""
        self._add_up()
        loop, number = self.loop, self.loop.number(stage)
        # Processes meet the shapes of a family in different orders, and must average the same names at a time.
        names = sorted(self._sums) if len(loop.parts) > 1 else list(self._sums)
        means = {name: self._sums[name] / max(1, self._counts[name]) for name in names}
        counts: dict[str, Tensor] = {}
        grounded: list[tuple[Tensor, int]] = []
        record: dict[str, Any] = {"stage": stage.name, "epoch": epoch}
        for part in loop.parts:
            for name, value in part.objectives[number].settings(tick).items():  # γ is the same for all, faults add up
                record[name] = value + (record.get(name, 0) if name.startswith("solver_") else 0)
            state = part.objectives[number].state()
            chains, waiting, symbols = state.get(CHAINS), state.get(WAITING), part.data.symbols
            for name, lacking in part.unexplained.counted(waiting).items():
                counts[name] = counts.get(name, 0) + lacking.double()
            if chains is not None and symbols is not None and part.task.space.categorical:
                held = torch.arange(len(chains), device=chains.device)
                held = held if waiting is None else held[waiting == 0]
                right = part.labels.unknown((chains[held] == symbols[held]).double(), held)
                grounded.append((right.sum(), len(held)))
        if grounded:
            share = sum(r for r, _ in grounded) / max(1, sum(n for _, n in grounded))
            means["grounded_symbols"] = share  # type: ignore[assignment]
        found = self._averaged(means | counts)
        world = loop.fabric.world_size
        record |= {name: round(mean * world) if name in counts else mean for name, mean in found.items()}
        solver, parts = self._solver_seconds - self._solver, self.stopwatch.read()
        record["seconds"] = {
            "network": parts.get("network", 0.0),
            "sampling": max(0.0, parts.get("sampling", 0.0) - solver),
            "solver": solver,
        }
        return record

    def _averaged(self, figures: dict[str, Tensor]) -> dict[str, float]:
        """Figures averaged over all processes; a GPU is asked once for all of them."""
        if not figures:
            return {}
        together: Any = self.loop.fabric.all_reduce(torch.stack([*figures.values()]), reduce_op="mean")
        return dict(zip(figures, together.tolist(), strict=True))
