"""What an epoch's examples showed: means over the examples, and over all processes."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from ..objectives.base import CHAINS
from ..objectives.starts import WAITING
from .stage import Stage
from .unexplained import Unexplained


class Tally:
    """Adds up values ``[examples]`` by name. Names may be about some examples of a batch only."""

    def __init__(self, fabric: Any) -> None:
        self.fabric = fabric
        self._sums: dict[str, Any] = {}
        self._counts: dict[str, int] = {}

    def add(self, values: Mapping[str, Tensor]) -> None:
        """Take in a batch."""
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0) + value.detach().double().sum()
            self._counts[name] = self._counts.get(name, 0) + len(value)

    def record(
        self, stage: Stage, epoch: int, own: Tensor, symbols: Tensor | None, unexplained: Unexplained
    ) -> dict[str, Any]:
        """The epoch's figures over all processes; ``own`` are this one's examples, ``symbols`` the true ones of all."""
        state, known = stage.objective.state(), stage.objective.settings(epoch) | self.means()
        chains, waiting, own = state.get(CHAINS), state.get(WAITING), own.to(self.fabric.device)
        record: dict[str, Any] = {"stage": stage.name, "epoch": epoch} | known
        for name, value in unexplained.counted(waiting, own).items():
            record[name] = round(self.mean(value.double()) * self.fabric.world_size)
        if chains is not None and symbols is not None and not chains.is_floating_point():
            held = own if waiting is None else own[waiting[own] == 0]
            right = (chains[held] == symbols[held]).double().mean(1).sum() / max(1, len(held))
            record["grounded_symbols"] = self.mean(right)
        return record

    def means(self) -> dict[str, float]:
        """The means by name."""
        return {name: self.mean(total / max(1, self._counts[name])) for name, total in self._sums.items()}

    def mean(self, value: Tensor) -> float:
        """The mean of a number that each process has."""
        return float(self.fabric.all_reduce(value, reduce_op="mean"))
