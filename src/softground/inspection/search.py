r"""All maps of symbols that fit what occurs: counted, or listed one after the other.

What propagation (:mod:`.propagation`) leaves open is split: into parts that share no row, whose counts multiply, else
by the images of one symbol, whose counts add up. A part with a single table is counted by its length, one without any
by the product of its domains or, where maps are to be one-to-one, by a permanent, so that a count may be large and yet
be found at once. Every row is tried in the end: counts are exact, unless the search is stopped, after a time or some
number of splits; then they are too small.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .propagation import FIRST, Node, Propagation, Rows, product
from .relation import injections, members
from .symmetry import Symmetry
from .time_limit import TimeLimit

WORK = 2**22  # most images tried, whatever the time, so that a search ends the same way everywhere
NODE = 2**10  # as many as a node takes the time of


@dataclass(frozen=True)
class Counted:
    """How many maps there are, and the images that each variable has under them, as bits."""

    maps: int
    images: dict[int, int]


class Search:
    """Maps within ``domains`` that fit ``rows``; with ``injective``, the one-to-one ones among them.

    ``clash[value]`` are the values, as bits, that no other variable may take beside ``value``; by default itself.
    ``symmetry`` must take maps that fit to maps that fit.
    """

    def __init__(
        self,
        domains: Sequence[int],
        rows: Rows,
        limit: TimeLimit,
        injective: bool = False,
        clash: Sequence[int] | None = None,
        symmetry: Symmetry | None = None,
        work: int = WORK,
    ) -> None:
        self.work = work
        self.symmetry = symmetry or Symmetry()
        self.rows, self.limit, self.injective, self.clash = rows, limit, injective, clash
        self.propagation = Propagation(max(domain.bit_length() for domain in domains), rows, injective, clash)
        self.finished = True
        self.root = Node(list(domains), [], np.arange(len(rows.scopes)))
        self.possible = self.propagation.settle(self.root, range(len(domains)), FIRST)

    def count(self) -> Counted:
        """How many there are: too few where the search was not :attr:`finished`."""
        self.propagation.tried, self.finished = 0, True
        if not self.possible:
            return Counted(0, dict.fromkeys(range(len(self.root.domains)), 0))
        return self._count(range(len(self.root.domains)), self.root, self.symmetry)

    def maps(self, fixed: Mapping[int, int] | None = None) -> Iterator[tuple[int, ...]]:
        """Them, one after the other, each symbol's own place first; with the images ``fixed``, if given."""
        self.propagation.tried, self.finished = 0, True
        node = self.root.fixed(fixed or {})
        if self.possible and self.propagation.settle(node, fixed or ()):
            yield from self._maps(node)

    def _maps(self, node: Node) -> Iterator[tuple[int, ...]]:
        open_ = [v for v, domain in enumerate(node.domains) if domain.bit_count() > 1]
        if not open_:
            yield tuple(domain.bit_length() - 1 for domain in node.domains)
            return
        variable = self._choice(node, open_)
        for value in sorted(members(node.domains[variable]), key=lambda v: (v != variable, v)):
            if (below := self._below(node, variable, value)) is not None:
                yield from self._maps(below)

    def _below(self, node: Node, variable: int, value: int) -> Node | None:
        """The node in which a variable has a value; None where nothing fits it, or the search is over."""
        self.propagation.tried += NODE
        if self.propagation.tried > self.work or not self.limit.left():
            self.finished = False
            return None
        below = node.fixed({variable: value})
        return below if self.propagation.settle(below, [variable]) else None

    def _count(self, variables: Sequence[int], node: Node, symmetry: Symmetry) -> Counted:
        parts = [(variables, node)] if self.injective else self._parts(variables, node)
        found = [self._count_part(*part, symmetry) for part in parts]
        total = math.prod(each.maps for each in found)
        return Counted(total, {v: d * (total > 0) for each in found for v, d in each.images.items()})

    def _count_part(self, variables: Sequence[int], node: Node, symmetry: Symmetry) -> Counted:
        domains = {v: node.domains[v] for v in variables}
        if not len(node.pending) and not node.relations:
            return self._different(domains) if self.injective else Counted(product(domains.values()), domains)
        if not len(node.pending) and len(node.relations) == 1 and not self.injective:
            return Counted(node.relations[0].left(node.domains).bit_count(), domains)
        spoken = {v for relation in node.relations for v in relation.scope}
        spoken |= set(np.flatnonzero(self.rows.scopes[node.pending].any(0)).tolist())
        variable = self._choice(node, [v for v in spoken if node.domains[v].bit_count() > 1])
        total, images = 0, dict.fromkeys(variables, 0)
        for value, many in symmetry.apart(domains[variable]):
            if (below := self._below(node, variable, value)) is not None:
                found = self._count(variables, below, symmetry.fixing(value))
                total += many * found.maps
                images = {v: images[v] | found.images[v] for v in variables}
        return Counted(total, {v: symmetry.closure(some) for v, some in images.items()})

    def _different(self, domains: dict[int, int]) -> Counted:
        """One-to-one maps within domains that nothing else restricts, and the images that occur in any."""
        total = injections(list(domains.values()), self.clash)
        if total is None:
            self.finished = False
            return Counted(0, dict.fromkeys(domains, 0))
        images = dict(domains)
        for v, domain in domains.items():
            if domain.bit_count() > 1 and total:
                one = [
                    value
                    for value in members(domain)
                    if injections([*(domains | {v: 1 << value}).values()], self.clash)
                ]
                images[v] = sum(1 << value for value in one)
        return Counted(total, images)

    def _parts(self, variables: Sequence[int], node: Node) -> Iterator[tuple[Sequence[int], Node]]:
        """Sets of variables that share no table and no row, each with its own."""
        part = {v: {v} for v in variables}
        still = np.array([domain.bit_count() > 1 for domain in node.domains])
        scopes = [[v for v in relation.scope if still[v]] for relation in node.relations]
        groups = [np.flatnonzero(self.rows.scopes[group] & still).tolist() for group in node.pending]
        for scope in scopes + groups:
            joined = set[int]().union(*(part[v] for v in scope))
            part |= dict.fromkeys(joined, joined)
        for own in {id(own): own for own in part.values()}.values():
            relations = [r for r, scope in zip(node.relations, scopes, strict=True) if scope[0] in own]
            pending = [g for g, scope in zip(node.pending.tolist(), groups, strict=True) if scope[0] in own]
            yield sorted(own), replace(node, relations=relations, pending=np.array(pending, dtype=int))

    def _choice(self, node: Node, variables: Sequence[int]) -> int:
        """The variable to split by: few images, many tables."""
        tables = [v for relation in node.relations for v in relation.scope]
        return min(variables, key=lambda v: (node.domains[v].bit_count(), -tables.count(v), v))
