"""What y leaves open where symbols are reals: maps of the whole line that keep S_y, tried on solutions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from ..reals.gaussian import snap
from ..task import Task
from .sample import Found, Sample

MAPS: dict[str, Callable[[Tensor], Tensor]] = {
    "adding a constant to all components": lambda z: z + 8.0,
    "doubling all components": lambda z: 2 * z,
    "halving all components": lambda z: snap(z / 2),
    "changing all signs": lambda z: -z,
}


@dataclass(frozen=True)
class RealMaps:
    """Maps of reals that keep every solution tried feasible."""

    kept: tuple[str, ...]
    refuted: tuple[str, ...]
    solutions: int
    answers: int


def real_maps(task: Task, sample: Sample) -> RealMaps:
    """Try each map on every solution of the sample."""

    def keeps(change: Callable[[Tensor], Tensor], f: Found) -> bool:
        return bool(task.feasible(change(f.z), f.y.expand(len(f.z), *f.y.shape[1:])).all())

    kept = tuple(name for name, change in MAPS.items() if all(keeps(change, f) for f in sample.found))
    refuted = tuple(name for name in MAPS if name not in kept)
    return RealMaps(kept, refuted, sum(len(f.z) for f in sample.found), len(sample.found))
