"""Runs as their reports see them: everything that a run folder holds, read once, and figures over several seeds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.table import Table

from ..figures import Figure, figures
from ..files import Json
from ..retired import effective
from ..runs import RunFolder
from ..runs.folder import SUMMARY
from .progress import side_by_side, title
from .words import columns, in_words, is_number, worded

if TYPE_CHECKING:
    from .findings import Findings


@dataclass(frozen=True)
class Facts:
    """What is known of a run; a page is a function of it."""

    name: str  # the run folder's
    config: Mapping[str, Any]
    history: list[Json]  # metrics.jsonl
    summary: Mapping[str, Any]  # empty while a run goes on
    watched: list[Json]  # gallery.jsonl
    findings: Findings | None  # report.json

    @classmethod
    def read(cls, folder: RunFolder, whole: bool = True) -> Facts:
        """The facts of a run folder, finished or not; its examples and what was found in them only if ``whole``."""
        config, watched, findings = folder.read_config(), [], None
        if whole:  # these need torch
            from .findings import Findings
            from .watch import GALLERY, read_gallery

            watched, findings = read_gallery(folder.path / GALLERY), Findings.read(folder)
        return cls(
            name=folder.path.resolve().name,
            config=config | ({"recipe": effective(config["recipe"])} if "recipe" in config else {}),
            history=folder.read_metrics(),
            summary=folder.read_summary() if (folder.path / SUMMARY).exists() else {},
            watched=watched,
            findings=findings,
        )

    @property
    def task(self) -> str:
        """The task's name."""
        return str(self.config.get("task", "run"))

    @property
    def settings(self) -> Json:
        """The run's recipe, settings, version and digests, as far as the config has them."""
        return {name: value for name, value in self.config.items() if name not in ("format", "task", "before")}

    @property
    def final(self) -> dict[str, Figure]:
        """The figures of the last moment by their flat names, which name the data set where it is a further one."""
        last = list(self.moments.values())[-1:]
        return {f.flat: f for record in last for f in figures(record, ("validation", *self.test_sets))}

    @property
    def short(self) -> dict[str, Figure]:
        """The numbers among the final figures that belong in a short table."""
        return {name: figure for name, figure in self.final.items() if figure.brief and is_number(figure.value)}

    @property
    def columns(self) -> dict[str, dict[str, Figure]]:
        """Figures by moment and by further test set."""
        return columns(self.moments, self.test_sets)

    @property
    def test_sets(self) -> list[str]:
        """Names of the further test sets."""
        found = self.summary.get("test_sets")
        return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []

    @property
    def moments(self) -> dict[str, Mapping[str, Any]]:
        """Held-out figures before training and after each stage, as the run folder names them."""
        before = self.summary.get("before", self.config.get("before"))
        after = {
            f"after {title(key.removeprefix('after_stage_'))}": value
            for key, value in self.summary.items()
            if key.startswith("after_stage_")
        }
        if not after and self.history:
            last = self.history[-1]
            after = {"last epoch": {f._replace(data="").flat: f.value for f in figures(last) if f.data == "test"}}
        moments = {"before": before} | after
        return {name: value for name, value in moments.items() if isinstance(value, Mapping) and value}


class Spread(NamedTuple):
    """A figure over several seeds; ``sd`` is the sample's, with n − 1 in its denominator."""

    mean: float
    sd: float
    least: float
    most: float

    def words(self, name: str) -> tuple[str, str, str]:
        """Mean ± sd, the least and the most, in words.

        >>> Spread(0.98765, 0.00123, 0.98, 0.99).words("symbol_accuracy")
        ('98.77% ± 0.12%', '98.00%', '99.00%')
        """
        average, sd, least, most = (in_words(Figure.parse(name, value)) for value in self)
        return f"{average} ± {sd}", least, most


def groups(runs: Sequence[Facts]) -> list[list[int]]:
    """Groups of two or more finished runs that differ only in their seed, by their places."""
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
    times = [{"wall_seconds": Figure("wall_seconds", run.summary.get("wall_seconds"))} for run in runs]
    found = [
        run.short | {n: f for n, f in time.items() if is_number(f.value)} for run, time in zip(runs, times, strict=True)
    ]
    values = {name: [float(row[name].value) for row in found] for name in found[0] if all(name in row for row in found)}
    return {name: Spread(mean(each), stdev(each), min(each), max(each)) for name, each in values.items()}


def seeds_table(title: str, found: Mapping[str, Spread]) -> Table:
    """Mean ± sd of each figure, and its least and its most."""
    rows = {"time" if name == "wall_seconds" else worded(name): each.words(name) for name, each in found.items()}
    return side_by_side("on held-out data", ("mean ± sd", "least", "most"), rows, title)
