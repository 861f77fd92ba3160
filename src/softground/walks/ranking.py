"""A ranking of walks by how well they connect solutions.

The paper decreases dim(Ω) "until the connectivity is satisfactory". So:

1. projections whose fibres are not known to be whole come last, because exact kernels cannot use them;
2. satisfactory walks come first: nine in ten of the chains led from one solution to another arrive, and nine in ten
   pairs of solutions are connected, if components were counted;
3. among these, fewer dropped sites come first, then fewer steps of the chains; given kernels follow the projections;
4. among the others, the share of chains that arrive counts first, then their agreement with the targets in the end (a
   given kernel wins a close comparison), then the share of connected pairs, then the share of moves with a completion.

The ranking uses counts, not times. So the same seed gives the same choice on every machine, unless a time limit ends
the trials; the recommendation then says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..kernels import Kernel
from ..projections import RandomBlock, RandomDrop
from ..task import Task
from .candidates import blocks, collapsed, small, swapping, swaps_solve
from .connectivity import Components, Fibres, Led, fibres, joined, lead
from .solutions import Sample
from .time_limit import TimeLimit

RULE = (
    "whole fibres; then whether connectivity is satisfactory (nine in ten led chains arrive, nine in ten pairs of "
    "solutions are connected); then fewer dropped sites, then fewer steps"
)
SATISFACTORY = 0.9
CLOSE = 0.1  # difference in agreement up to which a kernel made for the task is preferred to a general one


@dataclass(frozen=True, eq=False)
class Ranked:
    """The figures of one walk; without a ``projection``, of a kernel that was given. None: not measured."""

    name: str
    kernel: Kernel
    projection: RandomDrop | RandomBlock | None = None
    fibres: Fibres | None = None
    components: tuple[Components, ...] = ()
    led: Led | None = None
    change: bool = False  # whether a step also changes one of the sites kept
    swaps: bool = False  # whether a step also swaps two symbols

    @property
    def connected(self) -> float | None:
        """Share of pairs of solutions, over the answers looked at, that are connected; None where not counted."""
        return sum(c.reach for c in self.components) / len(self.components) if self.components else None

    @property
    def satisfactory(self) -> bool:
        """Whether the walk gets from solution to solution."""
        connected = 1.0 if self.connected is None else self.connected
        return self.led is not None and min(self.led.arrived, connected) >= SATISFACTORY

    @property
    def usable(self) -> bool:
        """Whether chains can walk with it."""
        if self.projection is None:
            return self.led is not None
        return self.fibres is not None and self.fibres.complete == 1

    def rank(self) -> tuple[float, ...]:
        """What the rule sorts by, the best first."""
        led = self.led or Led(0, 0.0, None, 0.0, 0)
        if self.satisfactory:
            dropped = self.projection.size if self.projection else math.inf
            return (not self.usable, False, dropped, led.steps or 0)
        close = 0.0 if self.projection else CLOSE
        movement = self.fibres.movement if self.fibres else 0.0
        return (not self.usable, True, -led.arrived, -led.agreement - close, -(self.connected or 0.0), -movement)


def ranking(task: Task, sample: Sample, kernels: Mapping[str, Kernel], limit: TimeLimit, seed: int) -> list[Ranked]:
    """All walks that time allows to measure, the best first; none for reals, whose kernels need no projection."""
    if not task.space.categorical:
        return []
    walks = [Ranked(name, kernel) for name, kernel in kernels.items() if not kernel.independent]
    for name, projection in small(task):
        if limit.left():
            kernel = collapsed(task, projection, change=True)
            pieces = joined(task, sample, projection.sets, change=True)
            walks.append(Ranked(name, kernel, projection, fibres(kernel, sample, seed, limit), pieces, change=True))
    for turn, walk in enumerate(walks):
        if (walk.usable or not walk.projection) and limit.left():
            share = limit.part(1 / (len(walks) - turn))
            walks[turn] = replace(walk, led=lead(task, walk.kernel, sample, share, seed))
    if not any(walk.satisfactory for walk in walks):
        walks += resolved(task, sample, limit.part(0.8), seed)
        walks += swapped(task, sample, min(walks, key=Ranked.rank), limit, seed) if walks else []
    return sorted(walks, key=Ranked.rank)


def resolved(task: Task, sample: Sample, limit: TimeLimit, seed: int) -> list[Ranked]:
    """Larger and larger blocks, until chains arrive or completions are too many to be listed."""
    found: list[Ranked] = []
    for name, projection in blocks(task):
        if not limit.left() or any(walk.satisfactory for walk in found):
            break
        kernel = collapsed(task, projection, change=False)
        walk = Ranked(name, kernel, projection, fibres(kernel, sample, seed, limit))
        if not walk.usable:
            break
        found.append(replace(walk, led=lead(task, kernel, sample, limit, seed)))
    return found


def swapped(task: Task, sample: Sample, best: Ranked, limit: TimeLimit, seed: int) -> list[Ranked]:
    """The best walk with swaps of symbols added to its steps, where some swap of some solution is one too."""
    if not best.usable or best.projection is None or not limit.left() or not swaps_solve(task, sample, seed):
        return []
    kernel = swapping(task, best.kernel)
    found = replace(best, name=f"{best.name}, symbols swapped", kernel=kernel, components=(), swaps=True)
    return [replace(found, led=lead(task, kernel, sample, limit, seed))]
