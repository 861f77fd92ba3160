"""What y leaves open where symbols are reals: maps of the whole line that keep S_y, tried on solutions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from ..reals.differences import Differences
from ..reals.gaussian import snap
from ..task import Task
from .sample import Sample

MAPS: dict[str, Callable[[Tensor], Tensor]] = {
    "adding a constant to all components": lambda z: z + 8.0,
    "doubling all components": lambda z: 2 * z,
    "halving all components": lambda z: snap(z / 2),
    "changing all signs": lambda z: -z,
}


@dataclass(frozen=True)
class Freedom:
    """Maps of reals that keep every solution tried feasible."""

    kept: tuple[str, ...]
    refuted: tuple[str, ...]
    solutions: int
    answers: int
    convex: int  # answers without ties, whose S_y is convex and therefore in one piece


def freedom(task: Task, sample: Sample) -> Freedom:
    """Try each map on every solution of the sample."""
    kept: list[str] = []
    refuted: list[str] = []
    for name, change in MAPS.items():
        fine = all(bool(task.feasible(change(f.z), f.y.expand(len(f.z), *f.y.shape[1:])).all()) for f in sample.found)
        (kept if fine else refuted).append(name)
    solutions, answers = sum(len(f.z) for f in sample.found), len(sample.found)
    return Freedom(tuple(kept), tuple(refuted), solutions, answers, _convex(task, sample))


def _convex(task: Task, sample: Sample) -> int:
    """How many answers mark one entry a row at most: difference constraints without 'or'."""
    if not isinstance(task.constraint, Differences):
        return 0
    return sum(bool((f.y[0, 1].sum(-1) <= 1).all()) for f in sample.found)
