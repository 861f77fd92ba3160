r"""The inverse of a propositional rule that was compiled into a circuit: Q* exactly, without a list of S_y.

A process of its own compiles the clauses (:mod:`~softground.inverses.circuit.sdd`). The circuit is then a few large
tensor operations, in the log domain: an OR of ANDs of two has the value

.. math:: v_d = \log \sum_{(p, s) \in d} \exp(v_p + v_s) ,

which is log Σ w over the models of its formula, since the circuit is decomposable (p and s share no variable) and
deterministic (no two elements of d hold at once). Nodes whose children are all known are a *level*; within it, those
with about as many elements are a *group*, padded to one width, and one gather and one logsumexp evaluate it for all
examples. Going down the same levels gives the gradient, v_e/v_d being each element's share of its node: one custom
backward pass, in which nothing is exponentiated again. Each site's weights are divided by their sum, so that a variable
which part of the circuit does not mention counts as 1 there, as it should; for the mode by their maximum.

References: Darwiche, SDDs, IJCAI (2011); Maene, Derkinderen and Zuidberg Dos Martires, KLay, ICLR (2025).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from ...constraints.answers import EVERYTHING, NOTHING
from ...constraints.cnf import HOLDS, Cnf
from ...constraints.scan.messages import LOG_ZERO
from ...dice import Dice
from ...errors import InverseError
from ...projections.base import Dropped
from ...registry import load
from ...spaces.categorical import Categorical
from ..base import INVERSES, Fibre, Inverse, Start, drawn
from ..complements import Cubes
from ..enumeration import Enumeration
from ..sets import How, Set, Sets, by_rows, only_where, reduced, where
from . import sdd

NODES = 100_000  # elements of a diagram: 64 examples then take some 50 MB
SECONDS = 60.0


@dataclass(frozen=True, eq=False)
class Nodes:
    """A circuit's nodes, numbered so that children come first.

    Node i < 2n is a literal: variable i // 2, true where i is odd. Node 2n is 'true', 2n + 1 is 'false', and every
    other one an OR of ANDs of two nodes each: node 2n + 2 + d of the ``arity[d]`` rows of ``elements`` that it owns.
    ``place[d]`` is where the circuit divides the variables: a way down from the root meets one node of each place at
    most, and places in rising order.
    """

    variables: int
    arity: Tensor  # [decisions]
    place: Tensor  # [decisions]
    elements: Tensor  # [elements, 2]
    root: int

    @classmethod
    def read(cls, text: str, vtree: str, variables: int) -> Nodes:
        """A circuit in the text formats of the SDD package: its nodes, the root last, and its vtree, likewise.

        >>> nodes = "L 0 0 -1\\nL 1 2 2\\nT 2\\nL 3 0 1\\nD 4 1 2 0 1 3 2\\n"
        >>> either = Nodes.read(nodes, "L 0 1\\nL 2 2\\nI 1 0 2\\n", 2)
        >>> either.elements.tolist(), either.arity, either.root
        ([[0, 3], [1, 4]], tensor([2]), 6)
        """
        inner = [line.split()[1] for line in vtree.splitlines() if line.startswith("I")]
        rank = {name: place for place, name in enumerate(reversed(inner))}
        true, false = 2 * variables, 2 * variables + 1
        number: dict[str, int] = {}
        arity: list[int] = []
        place: list[int] = []
        elements: list[tuple[int, int]] = []
        last = ""
        for line in text.splitlines():
            kind, *words = line.split() or [""]
            if kind not in ("T", "F", "L", "D"):
                continue
            last = words[0]
            if kind == "L":
                number[last] = 2 * (abs(int(words[2])) - 1) + (int(words[2]) > 0)
            elif kind == "D":
                pairs = [(number[p], number[s]) for p, s in zip(words[3::2], words[4::2], strict=True)]
                pairs = [pair for pair in pairs if false not in pair]
                number[last] = 2 * variables + 2 + len(arity)
                arity.append(len(pairs))
                place.append(rank[words[1]])
                elements += pairs
            else:
                number[last] = true if kind == "T" else false
        counts, places, pairs_of = (torch.tensor(each, dtype=torch.long) for each in (arity, place, elements))
        return cls(variables, counts, places, pairs_of.view(-1, 2), number[last])


def compiled(rule: Cnf, nodes: int = NODES, seconds: float = SECONDS) -> tuple[Nodes, Nodes]:
    """The circuits of a formula and of its negation; raises InverseError where they do not fit the limits."""
    load("pysdd", "Compiling a formula", "pysdd", InverseError)
    variables = rule.space.sites
    lines = [str(variables), *(" ".join(map(str, clause)) for clause in rule.clauses)]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-P", sdd.__file__, str(nodes), folder]
        try:
            ended = subprocess.run(
                command, input="\n".join([*lines, ""]), text=True, capture_output=True, timeout=seconds
            )
        except subprocess.TimeoutExpired as error:
            raise InverseError(
                f"{rule!r} was not compiled within {seconds:g} s. Allow more seconds, or learn from its parts."
            ) from error
        if ended.returncode == sdd.TOO_LARGE:
            raise InverseError(
                f"The circuit of {rule!r} has more than {nodes:,} nodes. Allow more nodes, or learn from its parts."
            )
        if ended.returncode:
            raise InverseError(
                f"PySDD failed to compile {rule!r} (status {ended.returncode}): {ended.stderr.strip()[-500:]}"
            )
        holds, fails, vtree = ((Path(folder) / name).read_text() for name in ("holds.sdd", "fails.sdd", "vtree"))
    return Nodes.read(holds, vtree, variables), Nodes.read(fails, vtree, variables)


ONE = torch.ones(())  # an only element's share
PADDING = 1.5  # a group may have this many times the elements it needs
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


KEPT = {"holds": HOLDS, "fails": ~HOLDS}


class Circuit(Inverse):
    """Fibres, starts and the law of a :class:`~softground.Cnf`, which PySDD compiles once, with its complement.

    At most ``nodes`` nodes and ``seconds`` are spent on that. ``cap`` is the most combinations of dropped sites that
    are tried for a fibre.

    >>> Circuit(Cnf([[1, 2], [-1, 3]]))
    Circuit(Cnf(2 clauses, 3 variables), 2 elements)
    """

    exact = True

    def __init__(self, rule: Cnf, *, nodes: int = NODES, seconds: float = SECONDS, cap: int = 100_000) -> None:
        self.made(rule, compiled(rule, nodes, seconds), cap)

    def made(self, rule: Cnf, circuits: tuple[Nodes, Nodes], cap: int = 100_000) -> None:
        self.constraint: Cnf = rule
        self.space: Categorical = rule.space
        self.levels = {code: Levels(each) for code, each in zip(KEPT.values(), circuits, strict=True)}
        self._cubes = Cubes(rule.space)
        self._tried = Enumeration(rule.space, rule, cap=cap)

    def __repr__(self) -> str:
        return f"Circuit({self.constraint!r}, {len(self.levels[HOLDS].nodes.elements):,} elements)"

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        return self._tried.fibre(z, y, dropped)

    def start(self, y: Tensor, seed: int) -> Start:
        """A state drawn uniformly from S_y for each answer."""
        return drawn(self, self.space.uniform(len(y), y.device), y, seed)

    def set(self, y: Tensor) -> Sets:
        """By the circuit of the formula where it holds, by that of its negation where it fails."""
        return where(y, (y == EVERYTHING) | (y == NOTHING), self._compiled, self._cubes)

    def _compiled(self, y: Tensor) -> Sets:
        true, levels = self.constraint.true.to(y.device), self.levels
        parts = list[tuple[Tensor, Callable[[Tensor], Sets]]]()
        for code, own in levels.items():
            filled = own.root != own.inputs - 1  # which is false
            parts.append((y == code, partial(Compiled, levels=own, true=true, filled=filled)))
        return by_rows(y, parts)


@dataclass(frozen=True, eq=False)
class Compiled(Set):
    """A circuit. ``true`` is the code of each site's symbol True."""

    levels: Levels
    true: Tensor

    def reduce(self, scores: Tensor, how: How) -> Tensor:
        own = reduced(scores, how)  # of a site that nothing on the way names
        literals = self._literals(scores - own[..., None])
        return (total(literals, self.levels) if how == "sum" else walked(literals, self.levels, how)) + own.sum(-1)

    def _literals(self, scores: Tensor) -> Tensor:
        """Scores ``[batch, n, 2]`` of symbols as those of literals, ``[2n, batch]``: ¬1, 1, ¬2, 2 …"""
        return torch.where(self.true[:, None] == 1, scores, scores.flip(-1)).flatten(1).T.contiguous()

    def marginals(self, scores: Tensor) -> Tensor:
        """In half the time, by the shares that the way up has found."""
        return self.slopes(scores, "sum").clamp(min=0.0)

    def choose(self, scores: Tensor, to: Literal["best"] | Dice) -> Tensor:
        """From the root down, in a quarter of the time of slopes through all nodes (the mode in two thirds).

        One element is taken of each OR on the way; sites that the way does not meet choose on their own.
        """
        best = to == "best"
        choose: Choose = partial(torch.argmax, dim=-1) if isinstance(to, str) else to.categorical
        scores = scores - scores.amax(-1, keepdim=True) if best else scores.log_softmax(-1)
        v = self.levels.values(self._literals(scores), best=best)
        met = self.levels.chosen(v, choose).T.view(scores.shape)
        state = torch.where(met[..., 1], self.true, 1 - self.true)
        free = ~met.any(-1)
        for site in free.any(0).nonzero().flatten().tolist():
            own = choose(only_where(free[:, site], scores[:, site]))
            state[:, site] = torch.where(free[:, site], own, state[:, site])
        return state


@INVERSES.register("circuit")
def _by_name(rule: Cnf, **settings: Any) -> Inverse:
    return Circuit(rule)
