r"""What a projection does to S_y: the completions that it leaves, and the solutions that its steps join.

*Movement* is the share of proposals u′, one move away from u = Π(z) with z ∈ S_y, that have a completion at all: the
others are rejected whatever the network says.

Where all of S_y is listed its *components* are counted, no chain needed. A step with the dropped sites D and a change
of one kept site k leads from z to every solution that agrees with z outside D ∪ {k}; a step that stays in Ω, to those
that agree outside D. So solutions are joined where they have the same symbols outside such a set: sorting the solutions
by those symbols finds all who are. The walk reaches all of S_y exactly when there is one component.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ..dice import Sampler
from ..errors import SoftgroundError
from ..projections import Stay
from ..projections.base import kept_sites
from ..spaces.categorical import Categorical
from ..task import Task
from .candidate_projections import Candidate
from .sample import Found, Sample, slow

ROWS = 256  # fibres measured
ROWS_SOLVER = 16  # with a solver that takes milliseconds for each
MANY = 1_024  # completions of a single u that are too many to walk with
LARGEST = 8_000  # most solutions of an answer whose components are counted
ENTRIES = 2_000_000  # most pairs (solution, set outside which it is compared)


@dataclass(frozen=True)
class Fibres:
    """Figures of one candidate's fibres over the sample."""

    mean: float
    largest: int
    complete: float  # share of fibres known to be whole; exact kernels can use no others
    movement: float


def fibres(task: Task, candidate: Candidate, sample: Sample, seed: int) -> Fibres | None:
    """The figures, or None where there are too many completions, or the inverse cannot complete so many sites."""
    z, y = sample.rows(ROWS_SOLVER if slow(task.inverse) else ROWS, seed)
    dice = Sampler(seed)
    dropped = candidate.projection.draw(dice, len(z), z.device)
    proposal = candidate.move.propose(dice, z, kept_sites(dropped, z.shape[1]))
    try:
        if int(task.inverse.fibre(z[:1], y[:1], dropped[:1]).count.max()) > MANY:
            return None
        here, there = task.inverse.fibre(z, y, dropped), task.inverse.fibre(proposal, y, dropped)
    except SoftgroundError:
        return None
    count = here.count
    moved = (there.count > 0) & ((proposal != z).any(-1) | (there.count > 1))
    whole, movement = float(here.complete.double().mean()), float(moved.double().mean())
    return Fibres(float(count.double().mean()), int(count.max()), whole, movement)


@dataclass(frozen=True)
class Components:
    """How one answer's solutions hang together."""

    solutions: int
    count: int
    reach: float  # probability that of two random solutions one can be reached from the other
    alone: int  # solutions that no step leaves


def components(space: Categorical, candidate: Candidate | None, found: Found) -> Components | None:
    """Components of S_y under a candidate's steps; with None, under changes of one site and no projection.

    None where there are too many solutions or sets to compare.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n, sets = len(found.z), {frozenset(d) for d in (candidate.projection.sets if candidate else [()])}
    if candidate is None or not isinstance(candidate.move, Stay):
        sets = {d | {k} for d in sets for k in range(space.sites) if k not in d}
    if not found.whole or n > LARGEST or n * len(sets) > ENTRIES:
        return None
    # A graph of solutions 0 … n − 1 and, after them, their classes by the symbols outside each set.
    classes, total = [], n
    for sites in sorted(map(sorted, sets)):
        rest = found.z.clone()
        rest[:, sites] = 0
        keys, dim = (space.index(rest), None) if space.indexable else (rest, 0)
        _, of = torch.unique(keys, return_inverse=True, dim=dim)
        classes.append(of.numpy() + total)
        total += int(of.max()) + 1
    ends = np.tile(np.arange(n), len(classes)), np.concatenate(classes)
    graph = coo_matrix((np.ones(len(ends[0]), np.int8), ends), shape=(total, total))
    _, label = connected_components(graph, directed=False)
    sizes = np.unique(label[:n], return_counts=True)[1]
    return Components(n, len(sizes), float((sizes / n) @ (sizes / n)), int((sizes == 1).sum()))
