"""Records to figures: mean and standard deviation over seeds, in per cent."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from .cell import Cell
from .store import Store

Record = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """A figure over seeds; the standard deviation is the sample's, 0 for one seed."""

    mean: float
    sd: float
    seeds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Figure | None:
        """Of at least one value, else None."""
        if not values:
            return None
        sd = statistics.stdev(values) if len(values) > 1 else 0.0
        return cls(round(statistics.fmean(values), 6), round(sd, 6), len(values))  # as in JSON, for all pages alike

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.sd:.2f}" if self.seeds > 1 else f"{self.mean:.2f}"

    def as_json(self) -> dict[str, Any]:
        """For ``tables.json``."""
        return asdict(self)


@dataclass(frozen=True)
class Results:
    """What is on record of a plan."""

    cells: Sequence[Cell]
    families: dict[str, list[Record]]

    @classmethod
    def read(cls, cells: Sequence[Cell], store: Store) -> Results:
        """Every record that fits its cell."""
        families: dict[str, list[Record]] = {}
        for cell in cells:
            if (record := store.shown(cell)) is not None:
                families.setdefault(cell.family, []).append(record)
        return cls(cells, families)

    @property
    def records(self) -> list[Record]:
        """All records."""
        return [record for records in self.families.values() for record in records]

    def over(self, family: str, value: Callable[[Record], float | None]) -> Figure | None:
        """A figure of a family's records, those left out that do not have it."""
        return Figure.of(self.each(family, value))

    def each(self, family: str, value: Callable[[Record], float | None]) -> list[float]:
        """What :meth:`over` averages, seed by seed."""
        found = [value(record["result"]) for record in self.families.get(family, [])]
        return [v for v in found if v is not None]

    def test(self, family: str, stage: str, metric: str) -> Figure | None:
        """A metric on held-out data after a stage, in per cent."""
        return self.over(family, share(stage, metric))

    def grounded(self, family: str, stage: str) -> Figure | None:
        """How many training examples the network's prediction explains after a stage."""
        return self.over(family, lambda r: r["stages"].get(stage, {}).get("grounded"))

    def seeds(self, families: Iterable[str]) -> str:
        """How many seeds stand behind families: ``3``, ``1–3``, or a dash."""
        counts = sorted({len(self.families.get(family, [])) for family in families} - {0})
        if not counts:
            return "–"
        return str(counts[0]) if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"


def share(stage: str, metric: str) -> Callable[[Record], float | None]:
    """A metric on held-out data after a stage, read off a record, in per cent."""

    def read(record: Record) -> float | None:
        found = record["stages"].get(stage, {}).get("test", {}).get(metric)
        return None if found is None else 100 * found

    return read


def reading(stage: str, metric: str, kind: Literal["all", "grammatical"]) -> Callable[[Record], float | None]:
    """A metric of formulas over all symbols, or of the most probable grammatical ones, whichever the network reads.

    A record holds the readings that its network was trained with under the metric's name, the others beside them.
    """
    names = {"all": f"plain_{metric}", "grammatical": f"grammatical_{metric}"}
    other = names["grammatical" if kind == "all" else "all"]

    def read(record: Record) -> float | None:
        there = record["stages"].get(stage, {}).get("test", {})
        return share(stage, metric if other in there else names[kind])(record)

    return read


__all__ = ["Figure", "Record", "Results", "reading", "share"]
