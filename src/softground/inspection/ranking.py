"""Candidate walks side by side, in the order of a stated rule.

The paper's guideline is to decrease dim(Ω) "until the connectivity is satisfactory", which it measures by "the number
of random walk steps needed for the transition from the initial solution to a target solution". So:

1. a projection comes last whose fibres are not known to be whole, for exact kernels cannot use it;
2. those come first that are satisfactory: of the chains led from one solution to another (:mod:`.led_chains`), nine in
   ten arrive, and where components were counted nine pairs of solutions in ten are connected;
3. among these, the fewer sites are dropped the better, then the fewer steps the chains took; kernels that were given
   come after the projections;
4. among the others, the more of their chains arrive, then the more they agree with their targets in the end (a kernel
   that was given is preferred where that is close), then the more pairs are connected, then the more moves find a
   completion.

Nothing in the rule is a measured time: the same seed gives the same choice on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..kernels import Collapsed, Exact, Kernel
from ..spaces.categorical import Categorical
from ..task import Task
from .candidate_projections import Candidate, candidates
from .connectivity import LARGEST, Components, Fibres, components, fibres
from .led_chains import Led, lead
from .sample import Found, Sample
from .time_limit import TimeLimit

RULE = (
    "whole fibres; then whether connectivity is satisfactory (nine in ten led chains arrive, nine in ten pairs of "
    "solutions are connected); then fewer dropped sites, then fewer steps"
)
SATISFACTORY = 0.9
CLOSE = 0.1  # agreement with the target, below which a kernel made for the task is preferred to a general one
ANSWERS = 4  # whose components are counted


@dataclass(frozen=True, eq=False)
class Ranked:
    """The figures of one walk: on a candidate projection, or by a kernel that was given. None: not measured."""

    name: str
    kernel: Kernel
    candidate: Candidate | None = None
    fibres: Fibres | None = None
    components: tuple[Components, ...] = ()
    led: Led | None = None

    @property
    def connected(self) -> float | None:
        """Share of pairs of solutions, over the answers looked at, that are connected; None where not counted."""
        return sum(c.reach for c in self.components) / len(self.components) if self.components else None

    @property
    def satisfactory(self) -> bool:
        """Whether the walk gets from solution to solution."""
        arrived = self.led.arrived if self.led else 0.0
        return min(arrived, 1.0 if self.connected is None else self.connected) >= SATISFACTORY

    @property
    def usable(self) -> bool:
        """Whether an exact kernel can walk with it."""
        whole = self.fibres is not None and self.fibres.complete == 1
        return whole if self.candidate else self.led is not None

    def rank(self) -> tuple[float, ...]:
        """What the rule sorts by, the best first."""
        if self.satisfactory and self.led is not None:
            dropped = self.candidate.dropped if self.candidate else math.inf
            return (not self.usable, False, dropped, self.led.steps or 0.0)
        arrived, agreement = (self.led.arrived, self.led.agreement) if self.led else (0.0, 0.0)
        agreement += 0.0 if self.candidate else CLOSE
        movement = self.fibres.movement if self.fibres else 0.0
        return (not self.usable, True, -arrived, -agreement, -(self.connected or 0.0), -movement)


def ranking(task: Task, sample: Sample, kernels: Mapping[str, Kernel], limit: TimeLimit, seed: int) -> list[Ranked]:
    """All candidates that time allows to measure, and the kernels given that walk, the best first."""
    if not isinstance(task.space, Categorical):
        return []
    walks = [Ranked(name, kernel) for name, kernel in kernels.items() if not isinstance(kernel, Exact)]
    for c in candidates(task, sample, seed):
        if not limit.left():
            break
        found = [components(task.space, c, f) for f in countable(sample)]
        whole = tuple(x for x in found if x is not None)
        walk = Collapsed(task.inverse, c.projection, c.move)
        walks.append(Ranked(c.name, walk, c, fibres(task, c, sample, seed), whole if len(whole) == len(found) else ()))
    for turn, r in enumerate(walks):
        share = limit.part(1 / (len(walks) - turn))
        if (r.fibres or not r.candidate) and share.left():
            walks[turn] = replace(r, led=lead(task.space, r.kernel, sample, share, seed))
        limit.reached = limit.reached or share.reached
    return sorted(walks, key=Ranked.rank)


def countable(sample: Sample) -> list[Found]:
    """The answers whose components are counted."""
    return [f for f in sample.listed if 1 < len(f.z) <= LARGEST][:ANSWERS]


def single_site(task: Task, sample: Sample, limit: TimeLimit) -> tuple[Components, ...]:
    """Components under changes of one site without any projection: the connectivity barrier itself."""
    if not isinstance(task.space, Categorical):
        return ()
    found = [components(task.space, None, f) for f in countable(sample) if limit.left()]
    return tuple(c for c in found if c is not None)
