"""Random weighted graphs, their shortest distances to vertex 0, and all next hops on shortest paths.

A graph is a random spanning tree plus edges between random pairs, up to a number drawn uniformly from n − 1 … 10n/3 − 1
(29 … 99 for the paper's 30 vertices); weights are whole numbers, uniform in 1 … 9. The paper does not say how the tree
is drawn. There are two kinds:

- *recursive*, as in the authors' code: vertex j joins one of 0 … j − 1, drawn uniformly. Vertex 0, the destination, is
  a hub, and low names are near it: much of a distance can be read off a name alone.
- *uniform*: all labelled trees are equally probable, so that names mean nothing.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from ...data import Examples
from ...data.checks import check_room
from ...errors import DataError

Trees = Literal["uniform", "recursive"]
HEAVIEST = 9
BYTES_PER_PAIR = 16  # of vertices: weight and next hop, as inputs and as answers


@dataclass(frozen=True)
class Graphs:
    """Symmetric ``weights[graphs, n, n]`` (0: no edge), ``distances[graphs, n]`` to vertex 0, ``hops[graphs, n, n]``.

    ``hops[g, j, k]`` says whether k is a neighbour of j on a shortest path: w(j, k) + d(k) = d(j).
    """

    weights: Tensor
    distances: Tensor
    hops: Tensor

    def examples(self) -> Examples:
        """x: the weights. y: the weights and next hops. Symbols (for SUP and reports alone): the distances."""
        y = torch.stack([self.weights, self.hops.to(self.weights.dtype)], 1)
        return Examples(self.weights, list(y.unbind(0)), self.distances.double())


def random_graphs(count: int, nodes: int, seed: int, trees: Trees = "uniform") -> Graphs:
    """``count`` graphs, the same for the same seed."""
    if count < 1 or nodes < 3:
        raise DataError(f"{count} graphs of {nodes} vertices were asked for; expected at least 1 graph of 3 vertices.")
    check_room("graphs", count, BYTES_PER_PAIR * nodes**2)
    rng = np.random.default_rng(seed)
    weights = np.stack([random_weights(nodes, rng, trees) for _ in range(count)])
    return solved(torch.from_numpy(weights))


def random_weights(nodes: int, rng: np.random.Generator, trees: Trees) -> np.ndarray:
    """One graph's symmetric weights."""
    edges = np.zeros((nodes, nodes), dtype=bool)
    for a, b in recursive_tree(nodes, rng) if trees == "recursive" else uniform_tree(nodes, rng):
        edges[min(a, b), max(a, b)] = True
    most = min(nodes * (nodes - 1) // 2, max(nodes - 1, 10 * nodes // 3 - 1))
    extra = int(rng.integers(nodes - 1, most + 1)) - (nodes - 1)
    free = np.argwhere(np.triu(~edges, 1))
    chosen = free[rng.choice(len(free), size=extra, replace=False)]
    edges[chosen[:, 0], chosen[:, 1]] = True
    upper = np.where(edges, rng.integers(1, HEAVIEST + 1, size=(nodes, nodes)), 0).astype(np.float32)
    return np.asarray(upper + upper.T)


def recursive_tree(nodes: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """The edges of a random recursive tree: each vertex joins an earlier one."""
    return [(int(rng.integers(vertex)), vertex) for vertex in range(1, nodes)]


def uniform_tree(nodes: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """The edges of a tree drawn uniformly from all labelled ones."""
    import networkx as nx

    return list(nx.random_labeled_tree(nodes, seed=int(rng.integers(2**32))).edges)


def solved(weights: Tensor) -> Graphs:
    """Distances and next hops of graphs ``[count, n, n]``, by Dijkstra's algorithm (scipy)."""
    from scipy.sparse.csgraph import dijkstra

    rows = [dijkstra(w, directed=False, indices=0) for w in weights.numpy().astype(np.float64)]
    distances = torch.from_numpy(np.stack(rows)).to(weights.dtype)
    if not bool(torch.isfinite(distances).all()):
        raise DataError("A graph is not connected: some vertex has no path to vertex 0.")
    hops = (weights > 0) & (weights + distances[:, None, :] == distances[:, :, None])
    hops[:, 0] = False  # the destination goes nowhere
    return Graphs(weights, distances, hops)
