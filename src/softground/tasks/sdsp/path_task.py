"""Shortest paths as a task: reals under difference constraints, judged by the paths they lead to.

The judge is A* with a queue of length 1. At vertex j the walk goes to the unvisited neighbour k with the least
w(j, k) + z_k, where z_k estimates the distance from k to vertex 0; it ends at vertex 0, or fails where every neighbour
has been visited.

Reference: Z. Li et al., ICLR 2023, Section 5.3.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ...inverses import Inverse
from ...metrics import share
from ...reals import Gaussian
from ...registry import Registry
from ...task import Task
from .differences import Differences, Intervals

GRAPHS_TOGETHER = 256  # searched at a time
SURE_MARGIN = 1.0  # of the true distances, where weights are whole numbers

PATH_INVERSES: Registry[Callable[..., Inverse]] = Registry("inverse")


@PATH_INVERSES.register("intervals")
def _intervals(rule: Differences, nonnegative: bool, **solver: Any) -> Inverse:
    """For training, points within a twentieth of the least margin, and what eighty steps find, are near enough.

    They are on average less than one per cent farther away than the nearest. The last few examples would take many more
    steps.
    """
    return Intervals(rule, nonnegative=nonnegative, tolerance=max(1e-4, rule.lowest / 20), limit=80)


class PathTask(Task):
    """A task whose figures come from A* on the graph, which is part of the answer."""

    def figures(self, predicted: Tensor, y: Tensor, symbols: Tensor | None) -> dict[str, float]:
        """Share of shortest paths found, of graphs solved, of z ∈ S_y; Spearman's ρ.

        ``path_accuracy`` is over the n − 1 vertices that have a way to go, ``path_accuracy_all`` over all n, as in the
        authors' code: vertex 0 is always right.
        """
        found = self._right(predicted, y)
        result = {
            "path_accuracy": share(found[:, 1:]),
            "path_accuracy_all": share(found),
            "graph_accuracy": share(found.all(-1)),
            "feasible": share(self.feasible(predicted, y)),
        }
        if symbols is not None:
            result["spearman"] = spearman(predicted, symbols).mean().item()
        return result

    def reward(self, z: Tensor, y: Tensor) -> Tensor:
        """The number of right paths, that of vertex 0 included, as in the authors' code."""
        return self._right(z, y).sum(-1).double()

    @staticmethod
    def _right(z: Tensor, y: Tensor) -> Tensor:
        """Whether the walk from each vertex is a shortest path, ``[graphs, n]``."""
        parts = zip(torch.split(z, GRAPHS_TOGETHER), torch.split(y, GRAPHS_TOGETHER), strict=True)
        return torch.cat([shortest_found(a[:, 0], a[:, 1], part) for part, a in parts])


def sdsp_task(
    nodes: int = 30,
    sigma: float = 1.0,
    margin: float = 0.0,
    inverse: str = "intervals",
    nonnegative: bool = False,
    **solver: Any,
) -> PathTask:
    """Shortest paths to vertex 0 in graphs of ``nodes`` vertices.

    A graph in which no z leads by ``margin`` has the first of margin − 1, margin − 2, …, 1 that some z leads by. Chains
    that are to teach a network without negative outputs start ``nonnegative``.
    """
    space = Gaussian(nodes, sigma)
    rule = Differences(space, margin, min(margin, SURE_MARGIN))
    return PathTask(space, rule, PATH_INVERSES[inverse](rule, nonnegative, **solver), name="sdsp")


def spearman(a: Tensor, b: Tensor) -> Tensor:
    """Spearman's rank correlation of each row, ties sharing their mean rank; 0 where a row is constant.

    >>> spearman(torch.tensor([[1.0, 2, 3], [3, 2, 1]]), torch.tensor([[5.0, 5, 9], [1, 2, 3]])).tolist()
    [0.8660254037844387, -1.0]
    """

    def centred_ranks(values: Tensor) -> Tensor:
        below = (values[:, None, :] < values[:, :, None]).sum(-1)
        equal = (values[:, None, :] == values[:, :, None]).sum(-1)
        ranks = below.double() + equal.double() / 2
        return ranks - ranks.mean(-1, keepdim=True)

    ra, rb = centred_ranks(a), centred_ranks(b)
    size = (ra.square().sum(-1) * rb.square().sum(-1)).sqrt()
    return torch.where(size > 0, (ra * rb).sum(-1) / size.clamp(min=1e-12), 0.0)


def search(weights: Tensor, z: Tensor, hops: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Walk from each vertex: costs ``[graphs, n]`` (∞ where the walk fails), and the steps taken.

    ``weights[graphs, n, n]`` are 0 where there is no edge; ``z[graphs, n]`` estimates distances. ``steps[g, s, i]`` is
    the i-th vertex of source s's walk, which repeats its last vertex after its end. With ``hops[graphs, n, n]`` a walk
    fails as soon as a step is none of these.

    >>> weights = torch.tensor([[[0.0, 1, 5], [1, 0, 1], [5, 1, 0]]])
    >>> search(weights, torch.tensor([[0.0, 1, 2]]))[0].tolist()
    [[0.0, 1.0, 2.0]]
    """
    graphs, n, _ = weights.shape
    graph = torch.arange(graphs, device=z.device)[:, None]
    look = weights.double().masked_fill(weights == 0, math.inf) + z.double()[:, None]
    at = torch.arange(n, device=z.device).expand(graphs, n)
    visited = torch.eye(n, dtype=torch.bool, device=z.device).repeat(graphs, 1, 1)
    cost = torch.zeros(graphs, n, dtype=torch.float64, device=z.device)
    steps = [at]
    for _ in range(n - 1):
        least, onward = look[graph, at].masked_fill(visited, math.inf).min(-1)
        walking = (at != 0) & torch.isfinite(cost)
        if not bool(walking.any()):
            break
        stuck = walking & torch.isinf(least)
        if hops is not None:
            stuck |= walking & ~(hops > 0)[graph, at, onward]
        cost = cost + torch.where(walking, weights[graph, at, onward].double(), 0.0).masked_fill(stuck, math.inf)
        at = torch.where(walking & ~stuck, onward, at)
        visited = visited.scatter(2, at[..., None], True)
        steps.append(at)
    return cost.masked_fill(at != 0, math.inf), torch.stack(steps, -1)


def shortest_found(weights: Tensor, hops: Tensor, z: Tensor) -> Tensor:
    """Whether each source's walk is a shortest path, ``[graphs, n]``: each of its steps is a true next hop."""
    return torch.isfinite(search(weights, z, hops)[0])
