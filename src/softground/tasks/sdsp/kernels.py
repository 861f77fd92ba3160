"""Kernels for shortest paths, by their names on the command line."""

from __future__ import annotations

from typing import cast

from ...errors import LearnerError
from ...kernels import Composed, Kernel, Metropolis
from ...projections import Drop, RandomDrop
from ...reals.differences import Differences
from ...reals.gibbs import BlockGibbs, SiteGibbs
from ...reals.noise import AddNoise
from ...reals.point_mass import PointMass
from ...task import Task
from .presets import KernelName

# The paper's walk adds uniform noise from [−5, 5] to a kept component.
NOISE = 5.0


def make_kernel(name: KernelName, task: Task, steps: int = 1, marginals: bool = True) -> Kernel:
    """``steps`` of the paper's kernel, of Gibbs sweeps, or of these after shifts of blocks; or the nearest point.

    The conditional means of gibbs are averaged over its sweeps; blocks reports its last sweep's.
    """
    rule, space = cast(Differences, task.constraint), task.space
    if name == "metropolis":
        walk = Metropolis(task.inverse, Drop(space, dropped(space.sites)), AddNoise(NOISE), completion="first")
        return Composed([walk] * steps)
    if name == "nearest":
        return PointMass(task.inverse)
    if name == "gibbs":
        return SiteGibbs(rule, steps, marginals)
    # Shifts of random triples, then single components, whose conditional means cover all of z.
    blocks = BlockGibbs(rule, RandomDrop(space, min(3, space.sites - 1)), marginals=False)
    return Composed(([blocks] * 8 + [SiteGibbs(rule, 1, marginals)]) * steps)


def dropped(sites: int) -> list[int]:
    """Every fifth component but the last: z₅, z₁₀, …, z₂₅ of 30, counted from 1 (the paper's)."""
    if sites < 3:
        raise LearnerError(f"A graph of {sites} vertices leaves nothing to project; use --kernel gibbs.")
    return list(range(4, sites - 1, 5)) or [1]
