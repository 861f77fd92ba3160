"""Where the time went, by part of the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..numbers import is_number
from .curves import Records, epochs_of
from .lines import Chart, Line

# Colour, name, meaning.
PARTS = {
    "network": ("c1", "network", "forward and backward passes, and the optimiser"),
    "sampling": ("c2", "sampling", "kernel steps, the solver's time aside"),
    "solver": ("c3", "solver", "the inverse projection: Z3, or what stands for it"),
    "rest": ("c6", "the rest", "reading data, evaluation, bookkeeping"),
}
RISING = "Seconds per epoch; a rising line is a solver or a machine in trouble."


class Timing(NamedTuple):
    """Parts as (colour, name, meaning, seconds in all), and a line for each by epoch; 0 where nothing was timed."""

    parts: list[tuple[str, str, str, float]]
    total: float
    chart: Chart


def timing(history: Records) -> Timing:
    """The time of a run."""
    epochs = [(i, split(r["seconds"])) for i, r in enumerate(history, 1) if isinstance(r.get("seconds"), Mapping)]
    parts = [(*words, sum(epoch[part] for _, epoch in epochs)) for part, words in PARTS.items()]
    lines = [Line(words[1], words[0], [(i, epoch[part]) for i, epoch in epochs]) for part, words in PARTS.items()]
    high = max((value for line in lines for _, value in line.points), default=0.0) or 1.0
    chart = Chart("Epoch by epoch", RISING, lines, epochs_of(history), "{:.3g} s".format, 0.0, high)
    return Timing(parts, sum(spent for *_, spent in parts), chart)


def split(spent: Mapping[str, Any]) -> dict[str, float]:
    """Seconds by part, with what no part accounts for.

    >>> split({"network": 3.0, "sampling": 1.0, "solver": 0.0, "total": 5.0})
    {'network': 3.0, 'sampling': 1.0, 'solver': 0.0, 'rest': 1.0}
    """
    known = {k: max(0.0, float(v)) for k, v in spent.items() if is_number(v)}
    parts = {part: known.get(part, 0.0) for part in ("network", "sampling", "solver")}
    return parts | {"rest": max(0.0, known.get("total", 0.0) - sum(parts.values()))}
