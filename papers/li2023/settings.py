"""A method's settings for one table, and the cells they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .cell import SEEDS, Cell


@dataclass(frozen=True)
class Setting:
    """A method: what it is called in a cell's name, its options, rank, time and seeds (see :class:`Cell`)."""

    key: str
    options: Mapping[str, Any]
    rank: int
    seconds: float
    curves: bool = False
    seeds: int = SEEDS

    def cell(self, table: str, task: str, seed: int, options: Mapping[str, Any], rank: int | None = None) -> Cell:
        """The cell of this method in ``table`` (such as ``hwf/standard``), with options that all its methods share."""
        return Cell(
            f"{table}/{self.key}/{seed}",
            "train",
            task,
            seed,
            {**options, **self.options},
            self.rank if rank is None else rank,
            self.seconds,
            self.curves,
            self.seeds,
        )


PAPER: dict[str, Any] = {"preset": "paper"}
STAGE_II = 30  # epochs, the paper's

__all__ = ["PAPER", "STAGE_II", "Setting"]
