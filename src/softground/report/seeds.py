"""Runs that differ in their seed alone: the mean and the standard deviation of their figures."""

import json
from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import NamedTuple

from rich.table import Table

from .facts import Facts
from .numbers import figure, is_brief, is_number, worded
from .progress import side_by_side


class Spread(NamedTuple):
    """A figure over several seeds; ``sd`` is the sample's, with n − 1 in its denominator."""

    mean: float
    sd: float
    least: float
    most: float

    def words(self, name: str) -> str:
        """As a reader wants it.

        >>> Spread(0.98765, 0.00123, 0.98, 0.99).words("symbol_accuracy")
        '98.77% ± 0.12%'
        """
        return f"{figure(name, self.mean)} ± {figure(name, self.sd)}"


def groups(runs: Sequence[Facts]) -> list[list[int]]:
    """The places of finished runs that differ in their seed alone, two or more of them together."""
    found: dict[str, dict[str, int]] = {}
    for place, run in enumerate(runs):
        if run.summary:
            asked = run.config.get("recipe") or run.config.get("settings")
            asked = asked if isinstance(asked, Mapping) else {}
            kind = json.dumps([run.task, {k: v for k, v in asked.items() if k != "seed"}], sort_keys=True)
            found.setdefault(kind, {}).setdefault(str(asked.get("seed")), place)  # a seed counts once
    return [list(places.values()) for places in found.values() if len(places) > 1]


def spreads(runs: Sequence[Facts]) -> dict[str, Spread]:
    """Mean and sd of every figure that all of the runs have, and of their time."""
    rows = [dict(run.final) | {"wall_seconds": run.summary.get("wall_seconds")} for run in runs]
    shared = [n for n in rows[0] if is_brief(n) and all(is_number(row.get(n)) for row in rows)]
    values = {name: [float(row[name]) for row in rows] for name in shared}
    return {name: Spread(mean(each), stdev(each), min(each), max(each)) for name, each in values.items()}


def seeds_table(title: str, found: Mapping[str, Spread]) -> Table:
    """Mean ± sd of each figure, and its least and its most."""
    rows = {
        "time" if name == "wall_seconds" else worded(name): (each.words(name), *(figure(name, end) for end in each[2:]))
        for name, each in found.items()
    }
    return side_by_side("on held-out data", ("mean ± sd", "least", "most"), rows, title)
