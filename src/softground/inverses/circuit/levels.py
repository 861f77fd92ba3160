r"""A circuit as a few large tensor operations, in the log domain.

An OR of ANDs of two has the value

.. math:: v_d = \log \sum_{(p, s) \in d} \exp(v_p + v_s) ,

which is log Σ w over the models of its formula, since the circuit is decomposable (p and s share no variable) and
deterministic (no two elements of d hold at once). Nodes whose children are all known are a *level*; within it, those
with about as many elements are a *group*, padded to one width, and one gather and one logsumexp evaluate it for all
examples. Going down the same levels gives the gradient, v_e/v_d being each element's share of its node: one custom
backward pass, in which nothing is exponentiated again. References: Darwiche, SDDs, IJCAI (2011); Maene, Derkinderen and
Zuidberg Dos Martires, KLay, ICLR (2025).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...constraints.scan.messages import LOG_ZERO
from ..sets import How, only_where, reduced
from .compiling import Nodes

ONE = torch.ones(())  # an only element's share
PADDING = 1.5  # a group may have so many times the elements it needs
Choose = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Group:
    """Nodes ``begin … end`` of one level, each the OR of ``width`` ANDs, whose children are ``[nodes · width]``."""

    begin: int
    end: int
    width: int
    primes: Tensor
    subs: Tensor


@dataclass(frozen=True, eq=False)
class Place:
    """Nodes of which a way down meets one at most, with ``width`` elements or fewer; node i owns ``count[i]``."""

    width: int
    rows: Tensor  # of the nodes
    first: Tensor  # of each node's elements
    count: Tensor
    elements: Tensor  # [all, 2]


class Levels:
    """A circuit, renumbered level by level; rows 0 … 2n + 1 are the inputs, as in :class:`Nodes`."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes, self.inputs = nodes, 2 * nodes.variables + 2
        self._groups: dict[torch.device, list[Group]] = {}
        self._places: dict[torch.device, list[Place]] = {}
        children = [part.tolist() for part in torch.split(nodes.elements, nodes.arity.tolist())]
        level = [0] * self.inputs
        for pairs in children:
            level.append(1 + max(level[child] for pair in pairs for child in pair))
        order = sorted(range(len(children)), key=lambda d: (level[self.inputs + d], len(children[d])))
        row = list(range(self.inputs)) + [0] * len(children)
        for place, d in enumerate(order):
            row[self.inputs + d] = self.inputs + place
        self.root, self.size = row[nodes.root], len(row)
        rows = [[[row[child] for child in pair] for pair in pairs] for pairs in children]
        self._plan = _grouped([(level[self.inputs + d], rows[d]) for d in order])
        self._ways = defaultdict[int, list[tuple[int, list[list[int]]]]](list)
        for d, place in enumerate(nodes.place.tolist()):
            self._ways[place].append((row[self.inputs + d], rows[d]))

    def __repr__(self) -> str:
        return f"Levels({self.size - self.inputs:,} nodes, {len(self.nodes.elements):,} elements)"

    def groups(self, device: torch.device) -> list[Group]:
        """The groups on ``device``, from the inputs up."""
        if device not in self._groups:
            begin, false, made = self.inputs, self.inputs - 1, []
            for rows in self._plan:
                width = max(map(len, rows))
                flat = [pair for pairs in rows for pair in pairs + [[false, false]] * (width - len(pairs))]
                primes, subs = torch.tensor(flat, device=device).T.contiguous()
                made.append(Group(begin, begin + len(rows), width, primes, subs))
                begin += len(rows)
            self._groups[device] = made
        return self._groups[device]

    def values(self, inputs: Tensor, shares: list[Tensor] | None = None, best: bool = False) -> Tensor:
        """v of every node ``[nodes, batch]`` from those of the literals ``[2n, batch]``; ``best`` takes the maximum.

        ``shares`` collects each group's exp(v_e − v_d), ``[nodes, width, batch]``.
        """
        batch = inputs.shape[1]
        v = inputs.new_empty(self.size, batch)
        v[: self.inputs - 2] = inputs
        v[self.inputs - 2], v[self.inputs - 1] = 0.0, LOG_ZERO
        for group in self.groups(inputs.device):
            e = _elements(v, group)
            top = e.squeeze(1) if group.width == 1 else e.amax(1)
            if group.width == 1 and shares is not None:
                shares.append(ONE.to(e))
            elif group.width > 1 and not best:
                e = e.sub_(top[:, None]).exp_()
                total = e.sum(1)
                if shares is not None:
                    shares.append(e.div_(total[:, None]))
                top = top.add_(total.log_())
            v[group.begin : group.end] = top
        return v

    def places(self, device: torch.device) -> list[Place]:
        """The places on ``device``, from the root down."""
        if device not in self._places:
            made = []
            for _, nodes in sorted(self._ways.items()):
                count = torch.tensor([len(pairs) for _, pairs in nodes])
                flat = torch.tensor([pair for _, pairs in nodes for pair in pairs])
                tensors = (torch.tensor([row for row, _ in nodes]), count.cumsum(0) - count, count, flat)
                made.append(Place(int(count.max()), *(tensor.to(device) for tensor in tensors)))
            self._places[device] = made
        return self._places[device]

    def chosen(self, v: Tensor, choose: Choose) -> Tensor:
        """Which literals a way down from the root meets, ``[2n, batch]`` bool.

        At each place ``choose`` is given the values of one node's elements for each example, ``[batch, width]``, and
        returns a column; an example whose way does not come by has nothing to choose.
        """
        met, example = torch.zeros_like(v, dtype=torch.bool), torch.arange(v.shape[1], device=v.device)
        met[self.root] = True
        for place in self.places(v.device):
            here = met[place.rows]
            node, comes = here.to(torch.uint8).argmax(0), here.any(0)
            column = torch.arange(place.width, device=v.device)
            real = column < place.count[node][:, None]
            pairs = place.elements[(place.first[node][:, None] + column).clamp(max=len(place.elements) - 1)]
            e = v[pairs, example[:, None, None]].sum(-1).masked_fill(~real, -torch.inf)
            pair = pairs[example, choose(only_where(comes, e))]
            met[pair, example[:, None]] |= comes[:, None]
        return met[: self.inputs - 2]


def total(inputs: Tensor, levels: Levels) -> Tensor:
    """log Σ w over a circuit's models, ``[batch]``, from the literals' log-weights ``[2n, batch]``."""
    found: Tensor = _Total.apply(inputs, levels)  # type: ignore[no-untyped-call]
    return found


def walked(inputs: Tensor, levels: Levels, how: How) -> Tensor:
    """The same group by group, its slopes as ``how`` says, or differentiable as often as one likes."""
    ends = inputs.new_tensor([[0.0], [LOG_ZERO]]).expand(-1, inputs.shape[1])
    v = torch.cat([inputs, ends])
    for group in levels.groups(inputs.device):
        e = v.index_select(0, group.primes) + v.index_select(0, group.subs)
        v = torch.cat([v, reduced(e.view(group.end - group.begin, group.width, v.shape[1]).transpose(1, 2), how)])
    return v[levels.root]


class _Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, levels: Levels) -> Tensor:
        shares: list[Tensor] | None = [] if ctx.needs_input_grad[0] else None
        v = levels.values(inputs, shares)
        ctx.save_for_backward(inputs)
        ctx.levels, ctx.shares, ctx.shape = levels, shares, v.shape
        return v[levels.root].clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (inputs,), levels = ctx.saved_tensors, ctx.levels
        if torch.is_grad_enabled():  # the slopes are to be differentiated, too
            return torch.autograd.grad(walked(inputs, levels, "sum"), inputs, gradient, create_graph=True)[0], None
        flow = gradient.new_zeros(ctx.shape)
        flow[levels.root] = gradient
        for group, share in zip(reversed(levels.groups(gradient.device)), reversed(ctx.shares), strict=True):
            down = (share * flow[group.begin : group.end, None]).flatten(0, 1)
            flow.index_add_(0, group.primes, down)
            flow.index_add_(0, group.subs, down)
        return flow[: levels.inputs - 2], None


def _elements(v: Tensor, group: Group) -> Tensor:
    """The values of a group's elements, ``[nodes, width, batch]``."""
    e = v.index_select(0, group.primes).add_(v.index_select(0, group.subs))
    return e.view(group.end - group.begin, group.width, v.shape[1])


def _grouped(nodes: list[tuple[int, list[list[int]]]]) -> list[list[list[list[int]]]]:
    """Nodes in the order of (level, number of elements), cut where the level changes or padding wastes too much."""
    groups: list[list[list[list[int]]]] = []
    at, used = -1, 0
    for level, pairs in nodes:
        if level != at or len(pairs) * (len(groups[-1]) + 1) > PADDING * (used + len(pairs)):
            groups.append([])
            at, used = level, 0
        groups[-1].append(pairs)
        used += len(pairs)
    return groups
