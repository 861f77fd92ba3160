"""Kernels for shortest paths by name: ``(walk, steps, marginals) -> Kernel``; a step is a sweep over all components."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from ...errors import LearnerError
from ...kernels import Composed, Kernel, Metropolis
from ...projections.base import Walk
from ...reals import BlockGibbs, PointMass, SiteGibbs
from ...registry import Registry
from ...schedules import Schedule
from ...task import Task
from ...training import SoftenedGrounding

DroppedName = Literal["fifth", "sixth"]
NOISE = 5.0  # the paper's walk adds uniform noise from [−5, 5] to a kept component
PATH_KERNELS: Registry[Callable[[Walk, int, bool], Kernel]] = Registry("kernel")


@PATH_KERNELS.register("metropolis")
def _paper(walk: Walk, steps: int, marginals: bool) -> Kernel:
    return Composed([Metropolis(walk.inverse, walk.drop, walk.move, completion="first")] * steps)


@PATH_KERNELS.register("blocks")
def _blocks(walk: Walk, steps: int, marginals: bool) -> Kernel:
    """Shifts of random triples, then single components, whose conditional means cover all of z."""
    rule: Any = walk.inverse.constraint
    blocks = BlockGibbs(rule, walk.family, marginals=False)
    return Composed(([blocks] * 8 + [SiteGibbs(rule, 1, marginals)]) * steps)


@PATH_KERNELS.register("gibbs")
def _gibbs(walk: Walk, steps: int, marginals: bool) -> Kernel:
    rule: Any = walk.inverse.constraint
    return SiteGibbs(rule, steps, marginals)


PATH_KERNELS["nearest"] = lambda walk, steps, marginals: PointMass(walk.inverse)


@dataclass(frozen=True)
class Zero(Schedule):
    """The schedule of Stage II: γ = 0."""

    def gamma(self, t: int) -> float:
        return 0.0


def point_mass(task: Task) -> SoftenedGrounding:
    """Learn from the nearest feasible points."""
    return SoftenedGrounding(PointMass(task.inverse), Zero())


def dropped(sites: int, which: DroppedName = "fifth") -> list[int]:
    """Every fifth component but the last (z₅, z₁₀, …, z₂₅ of 30, counted from 1: the paper's text), or every sixth.

    The latter are vertices 0, 6, …, 24, the destination among them, as in the authors' code.
    """
    if sites < 3:
        raise LearnerError(f"A graph of {sites} vertices leaves nothing to project; use the kernel gibbs.")
    return list(range(0, sites, 6)) if which == "sixth" else list(range(4, sites - 1, 5)) or [1]
