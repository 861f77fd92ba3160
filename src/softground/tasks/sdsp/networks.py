"""Networks that read a weighted graph and estimate each vertex's distance to vertex 0."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ...errors import DataError
from ...networks import LAYERS, RandomLayer
from .graphs import HEAVIEST


def closeness(weights: Tensor) -> Tensor:
    """Weights as network inputs: 1 for the lightest edge down to 1/9 for the heaviest, 0 for no edge."""
    return torch.where(weights == 0, 0.0, (HEAVIEST + 1 - weights) / HEAVIEST)  # NaN stays NaN, to be noticed


@LAYERS.register("sdsp.PathMLP")
class PathMLP(RandomLayer):
    """The paper's network for graphs of n ``nodes``: n × n inputs, one ``hidden`` layer, n outputs.

    ``rectified`` is the network of the authors' code: it reads a weight w as 1 − w/10, and a ReLU follows its output.
    With ``relabel``, training renames the vertices other than 0 for every graph and undoes it in the output. The task
    does not depend on names, but this network does: each graph stands for its (n − 1)! relabellings.
    """

    def __init__(self, nodes: int, hidden: int = 128, relabel: bool = False, rectified: bool = False) -> None:
        super().__init__()
        self.nodes, self.hidden, self.relabel, self.rectified = nodes, hidden, relabel, rectified
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(nodes * nodes, hidden), nn.ReLU(), nn.Linear(hidden, nodes))

    def forward(self, x: Tensor) -> Tensor:
        _check(x, self.nodes)
        if not (self.relabel and self.training):
            return self._distances(x)
        rest = torch.rand(len(x), self.nodes - 1, device=x.device, generator=self.generator).argsort(1) + 1
        order = nn.functional.pad(rest, (1, 0))  # vertex 0 keeps its name
        graph = torch.arange(len(x), device=x.device)[:, None, None]
        z = self._distances(x[graph, order[:, :, None], order[:, None, :]])
        return torch.empty_like(z).scatter(1, order, z)

    def _distances(self, x: Tensor) -> Tensor:
        if not self.rectified:
            return self.layers(closeness(x))  # type: ignore[no-any-return]
        return nn.functional.relu(self.layers(closeness(x) * HEAVIEST / (HEAVIEST + 1)))


@LAYERS.register("sdsp.PathGNN")
class PathGNN(nn.Module):
    """Message passing along edges, the same layer in every round; the vertices' names do not matter.

    In each of ``rounds`` rounds every vertex takes, channel by channel, the largest of its neighbours' messages
    A h_k + B φ(w_jk): what Bellman and Ford do with one channel and a minimum. With 32 ``channels`` there are about
    10,000 parameters.
    """

    static = False  # how many edges there are depends on the graphs

    def __init__(self, nodes: int, channels: int = 32, rounds: int = 12) -> None:
        super().__init__()
        self.nodes, self.channels, self.rounds = nodes, channels, rounds
        self.first = nn.Linear(3, channels)
        self.message = nn.Linear(channels, channels)
        self.edge = nn.Linear(2, channels)
        self.update = nn.Sequential(nn.Linear(2 * channels, 2 * channels), nn.ReLU(), nn.Linear(2 * channels, channels))
        self.norm = nn.LayerNorm(channels)
        self.last = nn.Sequential(nn.Linear(channels, channels), nn.ReLU(), nn.Linear(channels, 1))

    def forward(self, x: Tensor) -> Tensor:
        _check(x, self.nodes)
        goal = (torch.arange(self.nodes, device=x.device) == 0).to(x.dtype).expand(x.shape[0], -1)
        h = self.first(torch.stack([goal, 1 - goal, (x > 0).sum(-1).to(x.dtype) / 10], -1))
        # An exported graph cannot gather edges, whose number depends on the input.
        largest = self._over_pairs(x) if torch.compiler.is_compiling() else self._along_edges(x)
        for _ in range(self.rounds):
            h = self.norm(h + self.update(torch.cat([h, largest(self.message(h))], -1)))
        z: Tensor = self.last(h)
        return z.squeeze(-1)

    def _along_edges(self, x: Tensor) -> Callable[[Tensor], Tensor]:
        """The largest of each vertex's messages, edge by edge."""
        graph, at, other = x.nonzero(as_tuple=True)
        weight = x[graph, at, other]
        edges = self.edge(torch.stack([closeness(weight), weight / HEAVIEST], -1))
        to, source = graph * self.nodes + at, graph * self.nodes + other
        place = to[:, None].expand_as(edges)

        def largest(sent: Tensor) -> Tensor:
            flat = sent.flatten(0, 1)
            best = torch.zeros_like(flat).scatter_reduce(0, place, flat[source] + edges, "amax", include_self=False)
            return best.view_as(sent)

        return largest

    def _over_pairs(self, x: Tensor) -> Callable[[Tensor], Tensor]:
        """The same over all pairs of vertices."""
        edges = self.edge(torch.stack([closeness(x), x / HEAVIEST], -1))
        edge, some = (x != 0)[..., None], (x != 0).any(-1, keepdim=True)
        return lambda sent: torch.where(some, torch.where(edge, sent[:, None] + edges, -torch.inf).amax(2), 0.0)


def _check(x: Tensor, nodes: int) -> None:
    if x.dim() != 3 or tuple(x.shape[1:]) != (nodes, nodes):
        raise DataError(f"Inputs have shape {tuple(x.shape)}; this network reads (batch, {nodes}, {nodes}) weights.")
