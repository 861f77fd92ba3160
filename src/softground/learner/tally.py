"""What the batches of an epoch showed, added up on the device, and how long their parts took: the epoch's record.

Numbers of several batches are kept and added up together: on a GPU every addition is a kernel to be handed over.
"""

from __future__ import annotations

from collections import Counter
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
GROUNDED = "grounded_symbols"
Names = tuple[tuple[str, int], ...]  # what a batch's numbers are called, and how many each has


class Tally:
    """Sums over one epoch of a loop."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.stopwatch = loop, Stopwatch(loop.fabric.device)
        self._batches: dict[Names, list[Tensor]] = {}
        self._sums: dict[Names, Tensor] = {}  # of each number over batches that were added up
        self._counts: dict[Names, int] = {}  # how many these are
        self._solver = self._solver_seconds

    @property
    def _solver_seconds(self) -> float:
        return sum(part.task.inverse.solver_seconds for part in self.loop.parts)

    def add(self, judged: Judged) -> None:
        """The numbers of a batch, each for all or for some of its examples."""
        batches = self._batches.setdefault(judged.names, [])
        batches.append(judged.numbers)
        if len(batches) >= TOGETHER:
            self._add_up()

    def _add_up(self) -> None:
        for names, batches in self._batches.items():
            self._sums[names] = self._sums.get(names, 0) + torch.stack(batches).sum(0, dtype=torch.double)
            self._counts[names] = self._counts.get(names, 0) + len(batches)
        self._batches.clear()

    def record(self, stage: Stage, epoch: int, tick: int) -> dict[str, Any]:
        """The epoch's averages over all processes, and this one's seconds; ``tick`` is how far the schedule is."""
        self._add_up()
        loop, number = self.loop, self.loop.number(stage)
        more: dict[str, Tensor] = {}
        grounded: list[tuple[Tensor, int]] = []
        record: dict[str, Any] = {"stage": stage.name, "epoch": epoch}
        for part in loop.parts:
            for name, value in part.objectives[number].settings(tick).items():  # γ is the same for all, faults add up
                record[name] = value + (record.get(name, 0) if name.startswith("solver_") else 0)
            state = part.objectives[number].state()
            chains, waiting, symbols = state.get(CHAINS), state.get(WAITING), part.data.symbols
            for name, lacking in part.unexplained.counted(waiting).items():
                more[name] = more.get(name, 0) + lacking.double()
            if chains is not None and symbols is not None and part.task.space.categorical:
                held: Tensor | slice = slice(None) if waiting is None else (waiting == 0).nonzero().flatten()
                agree = chains[held] == symbols[held]
                grounded.append((part.labels.unknown(agree.double(), held).sum(), len(agree)))
        if grounded:
            more[GROUNDED] = sum(r for r, _ in grounded) / max(1, sum(n for _, n in grounded))  # type: ignore[assignment]
        found = self._averaged(more)
        world = loop.fabric.world_size
        record |= {
            name: round(mean * world) if name in more and name != GROUNDED else mean for name, mean in found.items()
        }
        solver, parts = self._solver_seconds - self._solver, self.stopwatch.read()
        record["seconds"] = {
            "network": parts.get("network", 0.0),
            "sampling": max(0.0, parts.get("sampling", 0.0) - solver),
            "solver": solver,
        }
        return record

    def _averaged(self, more: dict[str, Tensor]) -> dict[str, float]:
        """The batches' numbers by name, and ``more``, averaged over all processes; a GPU is asked once for all."""
        groups, sums, counts = [*self._sums.items()], Counter[str](), Counter[str]()
        parts = [_by_name(names, each) for names, each in groups] + [value.double().view(1) for value in more.values()]
        values = iter(torch.cat(parts).tolist() if parts else [])
        for names, _ in groups:
            for name, count in names:
                sums[name] += next(values)
                counts[name] += count * self._counts[names]
        # In order, since processes meet the shapes of a family in different orders, and must average the same names.
        found = {name: sums[name] / max(1, counts[name]) for name in sorted(sums)}
        found |= dict(zip(more, values, strict=True))
        if (fabric := self.loop.fabric).world_size == 1 or not found:
            return found
        together: Any = torch.tensor([*found.values()], dtype=torch.double, device=fabric.device)
        return dict(zip(found, fabric.all_reduce(together, reduce_op="mean").tolist(), strict=True))  # type: ignore[union-attr]


def _by_name(names: Names, sums: Tensor) -> Tensor:
    """The sums of all numbers that have a name."""
    counts = [count for _, count in names]
    if len(set(counts)) == 1:
        return sums.view(len(names), -1).sum(1)
    return torch.stack([part.sum() for part in torch.split(sums, counts)])
