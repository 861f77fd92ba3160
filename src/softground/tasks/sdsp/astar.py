"""A* with a queue of length 1: from every source at once, always on to the neighbour that looks best.

At vertex j the walk goes to the unvisited neighbour k with the least w(j, k) + z_k, where z_k estimates the distance
from k to vertex 0; it ends at vertex 0, or fails where every neighbour has been visited.

Reference: Z. Li et al., ICLR 2023, Section 5.3.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def search(weights: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """Walk from each vertex: costs ``[graphs, n]`` (∞ where the walk fails), and the steps taken.

    ``weights[graphs, n, n]`` are 0 where there is no edge; ``z[graphs, n]`` estimates distances. ``steps[g, s, i]`` is
    the i-th vertex of source s's walk, which repeats its last vertex after its end.

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
        walking = at != 0
        if not bool(walking.any()):
            break
        stuck = walking & torch.isinf(least)
        cost = cost + torch.where(walking, weights[graph, at, onward].double(), 0.0).masked_fill(stuck, math.inf)
        at = torch.where(walking & ~stuck, onward, at)
        visited = visited.scatter(2, at[..., None], True)
        steps.append(at)
    return cost.masked_fill(at != 0, math.inf), torch.stack(steps, -1)


def shortest_found(weights: Tensor, hops: Tensor, z: Tensor) -> Tensor:
    """Whether each source's walk is a shortest path, ``[graphs, n]``: each of its steps is a true next hop."""
    cost, steps = search(weights, z)
    graph = torch.arange(len(z), device=z.device)[:, None, None]
    here, there = steps[..., :-1], steps[..., 1:]
    right = (hops > 0)[graph, here, there] | (here == 0)
    return right.all(-1) & torch.isfinite(cost)
