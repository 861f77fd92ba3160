"""Kernels for shortest paths by name: ``(task, steps, marginals) -> Kernel``; a step is a sweep over all components."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...errors import LearnerError
from ...kernels import Composed, Kernel, Metropolis
from ...objectives import SoftenedGrounding
from ...projections import Drop, RandomDrop
from ...reals import AddNoise, BlockGibbs, PointMass, SiteGibbs
from ...registry import Registry
from ...schedules import Schedule
from ...task import Task

NOISE = 5.0  # the paper's walk adds uniform noise from [−5, 5] to a kept component
PATH_KERNELS: Registry[Callable[[Any, int, bool], Kernel]] = Registry("kernel")


@PATH_KERNELS.register("metropolis")
def _paper(task: Task, steps: int, marginals: bool) -> Kernel:
    walk = Metropolis(task.inverse, Drop(task.space, dropped(task.space.sites)), AddNoise(NOISE), completion="first")
    return Composed([walk] * steps)


@PATH_KERNELS.register("blocks")
def _blocks(task: Any, steps: int, marginals: bool) -> Kernel:
    """Shifts of random triples, then single components, whose conditional means cover all of z."""
    blocks = BlockGibbs(task.constraint, RandomDrop(task.space, min(3, task.space.sites - 1)), marginals=False)
    return Composed(([blocks] * 8 + [SiteGibbs(task.constraint, 1, marginals)]) * steps)


PATH_KERNELS["gibbs"] = lambda task, steps, marginals: SiteGibbs(task.constraint, steps, marginals)
PATH_KERNELS["nearest"] = lambda task, steps, marginals: PointMass(task.inverse)


@dataclass(frozen=True)
class Zero(Schedule):
    """The schedule of Stage II: γ = 0."""

    def gamma(self, t: int) -> float:
        return 0.0


def point_mass(task: Task) -> SoftenedGrounding:
    """Learn from the nearest feasible points."""
    return SoftenedGrounding(PointMass(task.inverse), Zero())


def dropped(sites: int) -> list[int]:
    """Every fifth component but the last: z₅, z₁₀, …, z₂₅ of 30, counted from 1 (the paper's)."""
    if sites < 3:
        raise LearnerError(f"A graph of {sites} vertices leaves nothing to project; use the kernel gibbs.")
    return list(range(4, sites - 1, 5)) or [1]
