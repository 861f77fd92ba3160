"""A cell: one run of one method with one seed, which a table, a figure or a claim needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from softground.experiments.named import named_recipe
from softground.experiments.place import Device
from softground.runs.folder import plain

Kind = Literal["train", "choice", "jump", "z3", "law", "mean"]
SEEDS = 3
# Cells train as the presets of 0.3.0 did, without what came later: scaled grounding, annealing and further starts.
PLAIN = {"scaled": False, "restarts": 0, "schedule": "constant"}


@dataclass(frozen=True)
class Cell:
    """What to run.

    Parameters
    ----------
    name
        Stable: ``hwf/standard/exp/0`` is Table 1's exponential schedule with seed 0. Also where its record lies.
    kind
        ``train``: a training run; ``choice``: one that only its validation part judges; ``jump``, ``z3``: claims in the
        text; ``law``: a check of Proposition 1, on a CPU; ``mean``: a yardstick for shortest paths.
    task
        The task, by its name on the command line.
    options
        The task's options, beside the seed and where to run; a record made with others does not count, nor one made
        with another recipe, or that does not say at which commit and by which command.
    rank
        What comes first: 0 the paper's own rows, 1 what it compares them with, 2 yardsticks and our rows, 3 the rest.
    seconds
        About how long it takes alone on an H200; replaced by what was measured as soon as something was.
    curves
        Whether a figure needs the figures of every epoch.
    seeds
        How many seeds it is run with where nobody asks for another number; none where only ``--seeds`` asks for it.
    """

    name: str
    kind: Kind
    task: str
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)
    rank: int = 2
    seconds: float = 60.0
    curves: bool = False
    seeds: int = SEEDS

    @property
    def family(self) -> str:
        """The name without the seed: cells of one family take about as long, and are averaged."""
        return self.name.rsplit("/", 1)[0]

    @property
    def settings(self) -> dict[str, Any]:
        """The recipe without the seed, flat; nothing where nothing is trained."""
        if self.kind not in ("train", "choice", "jump"):
            return {}
        given = self.given
        second = {name: given.pop(name) for name in ("zero_objective",) if name in given}  # no setting of a recipe
        recipe = named_recipe(self.task, **given)[0].to_json()
        flat = {**recipe.pop("problem"), **{k: v for k, v in recipe.items() if k not in ("seed", "task")}, **second}
        return {name: plain(value) for name, value in flat.items()}

    @property
    def given(self) -> dict[str, Any]:
        """The options, and what makes the preset that of 0.3.0."""
        ours = self.task in ("hwf", "sudoku") and self.options.get("preset", "best") == "best"
        return (PLAIN if ours else {}) | dict(self.options)

    def as_json(self) -> dict[str, Any]:
        """For a worker process."""
        return asdict(self) | {"options": dict(self.options)}


@dataclass(frozen=True)
class Where:
    """Where a cell runs and its data lie; no part of what it is."""

    device: Device = "auto"
    data_dir: str | None = None

    @classmethod
    def at(cls, device: Device, data_dir: Path | None) -> Where:
        """From the command line's options."""
        return cls(device, None if data_dir is None else str(data_dir.resolve()))


__all__ = ["PLAIN", "SEEDS", "Cell", "Kind", "Where"]
