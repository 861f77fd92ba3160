r"""Measures of how well a walk connects the solutions of S_y.

*Movement* is the share of proposals u′, one move away from u = Π(z) with z ∈ S_y, that have a completion: the others
are always rejected.

*Components* are counted without chains if all of S_y is listed. A step with the dropped sites D and a change of
one kept site k leads from z to every solution that agrees with z outside D ∪ {k}; without a change, to those that agree
outside D. So solutions with the same symbols outside such a set are connected, and sorting them by those symbols finds
all of them. The walk reaches all of S_y exactly when there is one component.

*Led chains* measure connectivity by walking. The paper counts "the number of random walk steps needed for the
transition from the initial solution to a target solution". A free walk never meets a given one of 10²¹ solutions, so
the belief prefers the target's symbols, as a trained network does. A chain that arrives proves that the two are
connected; one that does not arrive in time proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..dice import Sampler
from ..errors import SoftgroundError
from ..inverses.base import cost
from ..kernels import Collapsed, Kernel
from ..spaces.categorical import Categorical, CategoricalBelief
from ..target import Target
from ..task import Task
from .solutions import Found, Sample
from .time_limit import TimeLimit

ROWS = {"tensor": 256, "solver": 16}  # fibres that are measured, by what an inverse costs
TOGETHER = 32  # of them at most, before time is looked at
MOST_COMPLETIONS = 1_024  # of one u that a walk can use
ANSWERS = 4  # whose components are counted
MOST_SOLUTIONS = 8_000  # of an answer whose components are counted
MOST_ENTRIES = 2_000_000  # pairs (solution, set outside which it is compared)
PAIRS, PAIRS_UNLISTED = 32, 8  # chains led; fewer where S_y cannot be listed and steps cost more
STEPS = {"tensor": 200, "solver": 50}  # of each of them
PULL = 4.0  # log-odds of the target's symbol against any other


@dataclass(frozen=True)
class Fibres:
    """Figures of a projection's fibres over the sample."""

    mean: float
    largest: int
    complete: float  # share of fibres known to be whole; exact kernels can use no others
    movement: float


def fibres(walk: Collapsed, sample: Sample, seed: int, limit: TimeLimit | None = None) -> Fibres | None:
    """The figures, of as many rows as there is time for.

    None where there are too many completions, or more sites than the inverse can complete.
    """
    z, y = sample.rows(ROWS[cost(walk.inverse)], seed)
    dice = Sampler(seed)
    dropped = walk.projection.draw(dice, len(z), z.device)
    proposal = walk.move.propose(dice, z, dropped.kept(z.shape[1]))
    counts: list[Tensor] = []
    complete: list[Tensor] = []
    moved: list[Tensor] = []
    try:
        if int(walk.inverse.fibre(z[:1], y[:1], dropped.rows(slice(1))).count.max()) > MOST_COMPLETIONS:
            return None
        for rows in (limit or TimeLimit()).batches(len(z), TOGETHER):
            here, there = (walk.inverse.fibre(u[rows], y[rows], dropped.rows(rows)) for u in (z, proposal))
            counts.append(here.count.double())
            complete.append(here.complete.double())
            moved.append((there.count > 0) & ((proposal != z)[rows].any(-1) | (there.count > 1)))
    except SoftgroundError:
        return None
    count, whole = torch.cat(counts), float(torch.cat(complete).mean())
    return Fibres(float(count.mean()), int(count.max()), whole, float(torch.cat(moved).double().mean()))


@dataclass(frozen=True)
class Components:
    """How one answer's solutions hang together."""

    solutions: int
    count: int
    reach: float  # probability that of two random solutions one can be reached from the other
    alone: int  # solutions that no step leaves


def components(space: Categorical, found: Found, sets: Sequence[Sequence[int]], change: bool) -> Components | None:
    """Components of S_y under steps that drop one of ``sets`` and, with ``change``, change one other site.

    None where there are too many solutions or sets to compare.
    """
    n, free = len(found.z), {frozenset(d) for d in sets}
    if change:
        free = {d | {k} for d in free for k in range(space.sites) if k not in d}
    if not found.whole or n > MOST_SOLUTIONS or n * len(free) > MOST_ENTRIES:
        return None
    classes = []  # of the solutions, by the symbols outside each set
    for sites in sorted(map(sorted, free)):
        rest = found.z.clone()
        rest[:, sites] = 0
        keys, dim = (space.index(rest), None) if space.indexable else (rest, 0)
        classes.append(torch.unique(keys, return_inverse=True, dim=dim)[1])
    # Each solution takes the least number of its class, class after class, until all that are joined have one number.
    label, before = torch.arange(n), None
    while before is None or not torch.equal(label, before):
        before = label
        for of in classes:
            label = torch.full_like(label, n).scatter_reduce_(0, of, label, "amin")[of]
        label = label[label]  # what the solution of that number has found itself
    counts = torch.bincount(label)
    sizes = counts[counts > 0].double()
    return Components(n, len(sizes), float((sizes / n).square().sum()), int((sizes == 1).sum()))


def joined(task: Task, sample: Sample, sets: Sequence[Sequence[int]], change: bool) -> tuple[Components, ...]:
    """Components of the first answers that are listed; with no set but (), those that projections are to join."""
    listed = [f for f in sample.found if f.whole and 1 < len(f.z) <= MOST_SOLUTIONS][:ANSWERS]
    found = [components(task.space, f, sets, change) for f in listed]
    return tuple(c for c in found if c is not None) if None not in found else ()


@dataclass(frozen=True)
class Led:
    """How many chains arrived, after how many steps, and how much of the target the others had."""

    pairs: int
    arrived: float
    steps: float | None  # mean over those that arrived, of ``allowed``
    agreement: float  # share of sites that are the target's in the end
    allowed: int  # steps that a chain was given

    def __str__(self) -> str:
        end = f", after {self.steps:.0f} steps on average" if self.steps is not None else f" in {self.allowed} steps"
        rest = "" if self.arrived == 1 else f"; in the end {self.agreement:.0%} of the sites were the target's"
        return f"{self.arrived:.0%} of the test chains reached their target solution{end}{rest}"


def lead(task: Task, kernel: Kernel, sample: Sample, limit: TimeLimit, seed: int) -> Led | None:
    """Lead chains from solution to solution; None where no answer has two, or the kernel cannot be used."""
    pairs = sample.pairs(PAIRS if any(f.whole for f in sample.found) else PAIRS_UNLISTED)
    if pairs is None:
        return None
    z, goal, y = pairs
    space, most = task.space, STEPS[cost(task.inverse)]
    scores = torch.where(torch.arange(space.width) == goal[..., None], 0.0, -PULL).double()
    scores = scores.masked_fill(~space.layout(z.device).allowed, -torch.inf)
    target = Target.at(CategoricalBelief(space, scores.log_softmax(-1)), y, 1.0)
    dice, taken = Sampler(seed), 0
    arrived = torch.zeros(len(z), dtype=torch.long)
    while taken < most and not bool(arrived.all()) and (taken == 0 or limit.left()):
        try:
            z, _ = kernel.step(dice, z, target)
        except SoftgroundError:
            return None
        taken += 1
        arrived = torch.where((arrived == 0) & (z == goal).all(-1), taken, arrived)
    home = arrived[arrived > 0].double()
    mean = float(home.mean()) if len(home) else None
    return Led(len(z), len(home) / len(z), mean, float((z == goal).double().mean()), taken)
