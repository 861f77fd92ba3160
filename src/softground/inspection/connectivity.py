r"""Which solutions can be reached from which, where all of S_y is listed: components and distances, no chain needed.

A step with the dropped sites D and a change of one kept site k leads from z to every solution that agrees with z
outside D ∪ {k}. So solutions are joined where they have the same symbols outside such a set, for any D of the family
and any k: sorting the solutions by those symbols finds all who are. A chain that stays in Ω joins those that agree
outside D. Of any other move, proposals are drawn, many for every solution; what these miss can only join more.

The walk reaches all of S_y exactly when there is one component. The distance is the number of steps, each the best
possible; a random walk takes longer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..dice import Sampler
from ..projections import ChangeOne, Stay
from ..projections.base import Dropped
from ..spaces.categorical import Categorical
from .candidates import Candidate
from .sample import Found

LARGEST = 8_000  # most solutions of an answer
ENTRIES = 2_000_000  # most pairs (solution, set outside which it is compared)
PROPOSALS = 64  # drawn for each solution and set, for moves other than a change of one site
SOURCES = 4  # solutions from which distances are measured


@dataclass(frozen=True)
class Components:
    """How one answer's solutions hang together."""

    solutions: int
    count: int
    reach: float  # probability that of two random solutions one can be reached from the other
    alone: int  # solutions that no step leaves


@dataclass(frozen=True)
class Distance:
    """Steps from a solution to another that can be reached."""

    mean: float
    largest: int


def components(space: Categorical, candidate: Candidate | None, found: Found) -> Components | None:
    """Components of S_y under a candidate's steps; with None, under changes of one site and no projection.

    None where there are too many solutions or sets to compare.
    """
    graph = _graph(space, candidate, found)
    if graph is None:
        return None
    from scipy.sparse.csgraph import connected_components

    _, label = connected_components(graph, directed=False)
    sizes = np.unique(label[: len(found.z)], return_counts=True)[1]
    n = len(found.z)
    return Components(n, len(sizes), float((sizes / n) @ (sizes / n)), int((sizes == 1).sum()))


def distances(space: Categorical, candidate: Candidate | None, found: Found) -> Distance | None:
    """Steps from a few solutions to all that can be reached from them."""
    graph = _graph(space, candidate, found)
    if graph is None or len(found.z) < 2:
        return None
    from scipy.sparse.csgraph import dijkstra

    n = len(found.z)
    sources = np.unique(np.linspace(0, n - 1, min(SOURCES, n)).astype(int))
    steps = dijkstra(graph, directed=True, indices=sources, unweighted=True)[:, :n] / 2
    reached = steps[np.isfinite(steps) & (steps > 0)]
    return Distance(float(reached.mean()), int(reached.max())) if reached.size else Distance(math.inf, 0)


def _graph(space: Categorical, candidate: Candidate | None, found: Found) -> Any | None:
    """Solutions 0 … N−1 and, after them, the classes they can step into: two arcs are one step."""
    if not found.whole or len(found.z) > LARGEST:
        return None
    sets = [()] if candidate is None else candidate.sets
    move = ChangeOne(space) if candidate is None else candidate.move
    if isinstance(move, ChangeOne):
        wider = {frozenset((*d, k)) for d in sets for k in range(space.sites) if k not in d}
        return _joined(space, found.z, sorted(map(sorted, wider)))
    if isinstance(move, Stay):
        return _joined(space, found.z, [list(d) for d in sets])
    return _proposed(space, found.z, sets, move)


def _joined(space: Categorical, z: Tensor, sets: list[list[int]]) -> Any | None:
    """Arcs both ways between a solution and its class outside each set."""
    from scipy.sparse import coo_matrix

    n = len(z)
    if n * len(sets) > ENTRIES:
        return None
    solution, group, total = [np.zeros(0, int)], [np.zeros(0, int)], 0
    for sites in sets:
        of, count = _classes(space, z, sites)
        shared = count[of] > 1  # a class of one joins nothing
        solution.append(np.arange(n)[shared])
        group.append(of[shared] + total)
        total += len(count)
    a, b = np.concatenate(solution), np.concatenate(group) + n
    rows, columns = np.concatenate([a, b]), np.concatenate([b, a])
    return coo_matrix((np.ones(len(rows), np.int8), (rows, columns)), shape=(n + total, n + total)).tocsr()


def _classes(space: Categorical, z: Tensor, sites: list[int]) -> tuple[Any, Any]:
    """The class of each state by its symbols outside ``sites``, and how many states each class has."""
    rest = z.clone()
    rest[:, sites] = 0
    _, of, count = _unique(space, rest)
    return of.numpy(), count.numpy()


def _unique(space: Categorical, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    keys, dim = (space.index(z), None) if space.indexable else (z, 0)
    found: tuple[Tensor, Tensor, Tensor] = torch.unique(keys, return_inverse=True, return_counts=True, dim=dim)
    return found


def _proposed(space: Categorical, z: Tensor, sets: Any, move: Any) -> Any | None:
    """Arcs from a solution to the classes that its proposals fall into, and from a class to its members."""
    from scipy.sparse import coo_matrix

    n, dice = len(z), Sampler(0)
    if n * len(sets) * PROPOSALS > 8 * ENTRIES:
        return None
    start, end, total = [np.zeros(0, int)], [np.zeros(0, int)], 0
    for sites in sets:
        dropped = torch.tensor(sites).expand(n * PROPOSALS, -1)
        many = z.repeat_interleave(PROPOSALS, 0)
        proposal = move.propose(dice, many, Dropped(dropped).kept(z.shape[1]))
        both = torch.cat([z, proposal])
        both[:, list(sites)] = 0
        _, of, _ = _unique(space, both)
        mine, theirs = of[:n].numpy(), of[n:].numpy()
        owner = np.arange(n).repeat(PROPOSALS)
        inhabited = np.isin(theirs, mine)
        start += [mine + n + total, np.arange(n), owner[inhabited]]
        end += [np.arange(n), mine + n + total, theirs[inhabited] + n + total]
        total += int(of.max()) + 1
    rows, columns = np.concatenate(start), np.concatenate(end)
    return coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(n + total, n + total)).tocsr()
