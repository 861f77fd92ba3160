"""Candidate projections side by side, in the order of a stated rule.

The paper's guideline is to decrease dim(Ω) "until the connectivity is satisfactory", which it measures by "the number
of random walk steps needed for the transition from the initial solution to a target solution". So:

1. a projection comes last whose fibres are not known to be whole, for exact kernels cannot use it;
2. those come first that are satisfactory: of the chains led from one solution to another (:mod:`.leading`), nine in ten
   arrive, and where components were counted nine pairs of solutions in ten are connected;
3. among these, the fewer sites are dropped the better, then the fewer steps the chains took;
4. among the others, the more of their chains arrive, then the more they agree with their targets in the end, then the
   more pairs are connected, then the more moves find a completion.

Nothing in the rule is a measured time: the same seed gives the same choice on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..kernels import Collapsed, Kernel
from ..task import Task
from .candidates import Candidate, candidates
from .connectivity import LARGEST, Components, Distance, components, distances
from .fibres import Fibres, measure
from .leading import Led, lead
from .limit import Limit
from .sample import Found, Sample

RULE = (
    "whole fibres; then whether connectivity is satisfactory (nine in ten led chains arrive, nine in ten pairs of "
    "solutions are connected); then fewer dropped sites, then fewer steps"
)
SATISFACTORY = 0.9
ANSWERS = 4  # whose components are counted
LED = 8  # fixed sets along which chains are led: those that connect and move most
FAR = 6  # candidates whose distances are measured


@dataclass(frozen=True, eq=False)
class Compared:
    """One candidate's figures; what could not be measured is None."""

    candidate: Candidate
    fibres: Fibres | None
    components: tuple[Components, ...] = ()
    distance: Distance | None = None
    led: Led | None = None

    @property
    def connected(self) -> float | None:
        """Share of pairs of solutions, over the answers looked at, that are connected; None where not counted."""
        return sum(c.reach for c in self.components) / len(self.components) if self.components else None

    @property
    def arrived(self) -> float:
        """Share of chains led from one solution to another that arrived; 0 where none was."""
        return self.led.arrived if self.led else 0.0

    @property
    def agreement(self) -> float:
        """Share of sites that are the target's when the chains stop; 0 where none was led."""
        return self.led.agreement if self.led else 0.0

    @property
    def satisfactory(self) -> bool:
        """Whether the walk gets from solution to solution."""
        return self.arrived >= SATISFACTORY and (self.connected is None or self.connected >= SATISFACTORY)

    @property
    def usable(self) -> bool:
        """Whether an exact kernel can walk with it."""
        return self.fibres is not None and self.fibres.complete == 1

    def rank(self) -> tuple[float, ...]:
        """What the rule sorts by, the best first."""
        if self.satisfactory and self.led is not None:
            return (not self.usable, False, self.candidate.dropped, self.led.steps or 0.0)
        movement = self.fibres.movement if self.fibres else 0.0
        return (not self.usable, True, -self.arrived, -self.agreement, -(self.connected or 0.0), -movement)


def compare(task: Task, sample: Sample, kernels: Mapping[str, Kernel], limit: Limit, seed: int) -> list[Compared]:
    """All candidates that time allows to measure, the best first."""
    result: list[Compared] = []
    listed = countable(sample)
    for candidate in candidates(task, sample, kernels, seed):
        if not limit.left():
            break
        result.append(Compared(candidate, measure(task, candidate, sample, seed)))
        if listed and task.space.categorical:
            found = [components(task.space, candidate, f) for f in listed]
            whole = tuple(c for c in found if c is not None)
            result[-1] = replace(result[-1], components=whole if len(whole) == len(found) else ())
    if task.space.categorical:
        result = _led(task, sample, result, limit, seed)
    result.sort(key=Compared.rank)
    return [_far(task, c, listed, limit) if k < FAR or c.candidate.given else c for k, c in enumerate(result)]


def countable(sample: Sample) -> list[Found]:
    """The answers whose components are counted."""
    return [f for f in sample.listed if 1 < len(f.z) <= LARGEST][:ANSWERS]


def single_site(task: Task, sample: Sample, limit: Limit) -> tuple[Components, ...]:
    """Components under changes of one site without any projection: the connectivity barrier itself."""
    if not task.space.categorical:
        return ()
    found = [components(task.space, None, f) for f in countable(sample) if limit.left()]
    return tuple(c for c in found if c is not None)


def _led(task: Task, sample: Sample, measured: list[Compared], limit: Limit, seed: int) -> list[Compared]:
    """Lead chains for families, for what was given, and for the fixed sets that connect and move most."""
    rest = [c for c in measured if c.usable]
    fixed = sorted((c for c in rest if c.candidate.fixed), key=Compared.rank)[:LED]
    chosen = {id(c) for c in rest if not c.candidate.fixed or c.candidate.given} | {id(c) for c in fixed}
    result = []
    for compared in measured:
        if id(compared) in chosen and limit.left():
            c = compared.candidate
            kernel = Collapsed(c.inverse, c.projection, c.move)
            compared = replace(compared, led=lead(task.space, kernel, sample, limit, seed))
        result.append(compared)
    return result


def _far(task: Task, compared: Compared, listed: list[Found], limit: Limit) -> Compared:
    """With the distances between solutions of the first answer listed."""
    if not compared.components or not limit.left():
        return compared
    return replace(compared, distance=distances(task.space, compared.candidate, listed[0]))
