r"""All maps of symbols that fit what occurs: counted, or listed one after the other.

What occurs is a list of rows, each a combination of symbols with its answer. A row says which images its symbols may
have together. Where these are few they are tabulated (:mod:`.relation`), the smallest first, and propagated, which
makes other rows small. What propagation leaves open is split: into parts that share no row, whose counts multiply, else
by the images of one symbol, whose counts add up. A part with a single table is counted by its length, one without any
by the product of its domains or, where maps are to be one-to-one, by a permanent, so that a count may be large and yet
be found at once. Every row is tried in the end: counts are exact, unless the search is stopped, after a time or a number
of splits; then they are too small.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .relation import Domains, Relation, injections, members
from .symmetry import Symmetry
from .time_limit import TimeLimit

NODES = 2_000  # most images tried, whatever the time; so that the same search ends the same way everywhere
AT_ONCE = 64  # tables made before they are propagated
FIRST, LATER = 2**20, 2**14  # images of few symbols tried without narrowing a domain, before one is split; after that
FEWEST, CHUNK = 4, 2**18  # rows tried first; pairs of a row and a map tried together


class Rows(ABC):
    """What occurs, in groups: the rows ``groups[g]`` speak of the variables ``scopes[g]``."""

    scopes: Any  # [groups, variables] bool
    groups: list[Tensor]

    @abstractmethod
    def fit(self, rows: Tensor, maps: Tensor) -> Tensor:
        """Whether maps, as images ``[maps, variables]`` of the rows' variables, fit each of the rows."""


@dataclass
class _Node:
    domains: Domains
    relations: list[Relation]
    pending: Any  # groups of rows not tabulated yet

    def fixed(self, images: Mapping[int, int]) -> _Node:
        domains = list(self.domains)
        for variable, value in images.items():
            domains[variable] &= 1 << value
        return replace(self, domains=domains)


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
        nodes: int = NODES,
    ) -> None:
        self.nodes = nodes  # left
        self.symmetry = symmetry or Symmetry()
        self.rows, self.limit, self.injective, self.clash = rows, limit, injective, clash
        width = max(domain.bit_length() for domain in domains)
        self._taken = clash or [1 << value for value in range(width)]
        self._key = torch.tensor([t.bit_length() for t in self._taken])
        self.finished = True
        self.root = _Node(list(domains), [], np.arange(len(rows.scopes)))
        self.possible = self._settle(self.root, range(len(domains)), FIRST)

    def count(self) -> Counted:
        """How many there are: too few where the search was not :attr:`finished`."""
        if not self.possible:
            return Counted(0, dict.fromkeys(range(len(self.root.domains)), 0))
        return self._count(range(len(self.root.domains)), self.root, self.symmetry)

    def maps(self, fixed: Mapping[int, int] | None = None) -> Iterator[tuple[int, ...]]:
        """Them, one after the other, each symbol's own place first; with the images ``fixed``, if given."""
        node = self.root.fixed(fixed or {})
        if self.possible and self._settle(node, fixed or ()):
            yield from self._maps(node)

    def _maps(self, node: _Node) -> Iterator[tuple[int, ...]]:
        open_ = [v for v, domain in enumerate(node.domains) if domain.bit_count() > 1]
        if not open_:
            yield tuple(domain.bit_length() - 1 for domain in node.domains)
            return
        variable = self._choice(node, open_)
        for value in sorted(members(node.domains[variable]), key=lambda v: (v != variable, v)):
            if (below := self._below(node, variable, value)) is not None:
                yield from self._maps(below)

    def _below(self, node: _Node, variable: int, value: int) -> _Node | None:
        """The node in which a variable has a value; None where nothing fits it, or the search is over."""
        self.nodes -= 1
        if self.nodes < 0 or not self.limit.left():
            self.finished = False
            return None
        below = node.fixed({variable: value})
        return below if self._settle(below, [variable]) else None

    def _count(self, variables: Sequence[int], node: _Node, symmetry: Symmetry) -> Counted:
        parts = [(variables, node)] if self.injective else self._parts(variables, node)
        found = [self._count_part(*part, symmetry) for part in parts]
        total = math.prod(each.maps for each in found)
        return Counted(total, {v: d * (total > 0) for each in found for v, d in each.images.items()})

    def _count_part(self, variables: Sequence[int], node: _Node, symmetry: Symmetry) -> Counted:
        domains = {v: node.domains[v] for v in variables}
        if not len(node.pending) and not node.relations:
            return self._different(domains) if self.injective else Counted(_product(domains.values()), domains)
        if not len(node.pending) and len(node.relations) == 1 and not self.injective:
            return Counted(node.relations[0].left(node.domains).bit_count(), domains)
        spoken = {v for relation in node.relations for v in relation.scope}
        spoken |= set(np.flatnonzero(self.rows.scopes[node.pending].any(0)).tolist())
        variable = self._choice(node, [v for v in spoken if node.domains[v].bit_count() > 1])
        total, images = 0, dict.fromkeys(variables, 0)
        for value, many in symmetry.orbits(domains[variable]):
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
                one = [value for value in members(domain) if injections([*(domains | {v: 1 << value}).values()], self.clash)]
                images[v] = sum(1 << value for value in one)
        return Counted(total, images)

    def _parts(self, variables: Sequence[int], node: _Node) -> Iterator[tuple[Sequence[int], _Node]]:
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

    def _choice(self, node: _Node, variables: Sequence[int]) -> int:
        """The variable to split by: few images, many tables."""
        tables = [v for relation in node.relations for v in relation.scope]
        return min(variables, key=lambda v: (node.domains[v].bit_count(), -tables.count(v), v))

    def _settle(self, node: _Node, changed: Any, work: float = LATER) -> bool:
        """Propagate, tabulate what has become small, and so on; whether any map may be left."""
        room, before = work, 0
        while self._propagate(node, set(changed)):
            left = np.array([domain.bit_count() for domain in node.domains], dtype=float)
            size = np.exp(self.rows.scopes[node.pending] @ np.log(left))
            order = np.argsort(size, kind="stable")
            decided = int((size < 1.5).sum())
            if decided and not self._decided(node, node.pending[order[:decided]]):
                return False
            room, before = work if before != left.sum() else room, left.sum()
            spent = np.cumsum(FEWEST * size[order[decided:]])
            chosen = node.pending[order[decided : decided + min(AT_ONCE, int((spent <= room).sum()))]].tolist()
            room -= spent[len(chosen) - 1] if chosen else 0
            node.pending = node.pending[order[decided + len(chosen) :]]
            if not chosen:
                return True
            node.relations, changed = list(node.relations), set[int]()
            for group in chosen:
                scope = np.flatnonzero(self.rows.scopes[group]).tolist()
                node.relations.append(Relation(scope, self._allowed(scope, group, node.domains)))
                changed |= set(scope)
        return False

    def _decided(self, node: _Node, groups: Any) -> bool:
        """Whether the one map that the domains leave for these groups' variables fits all their rows."""
        rows = torch.cat([self.rows.groups[g] for g in groups.tolist()])
        only = torch.tensor([[domain.bit_length() - 1 for domain in node.domains]])
        return all(bool(self.rows.fit(part, only).all()) for part in rows.split(CHUNK))

    def _allowed(self, scope: Sequence[int], group: int, domains: Domains) -> Tensor:
        """The images of the variables ``scope`` within the domains that fit every row of a group."""
        values = torch.cartesian_prod(*(torch.tensor(members(domains[v])) for v in scope)).view(-1, len(scope))
        if self.injective:
            keys = self._key[values].sort(-1).values
            values = values[(keys[:, 1:] != keys[:, :-1]).all(-1)]
        rows, done, many = self.rows.groups[group], 0, FEWEST
        maps = torch.zeros(len(values), len(domains), dtype=torch.long)
        maps[:, scope] = values
        while done < len(rows) and len(maps):  # what few rows refute is not tried on the others
            some = rows[done : done + min(many, max(1, CHUNK // len(maps)))]
            maps = maps[self.rows.fit(some, maps).all(-1)]
            done, many = done + len(some), 2 * many
        return maps[:, scope]

    def _propagate(self, node: _Node, changed: set[int]) -> bool:
        """Narrow domains until no table narrows them further; tables that no longer say anything are dropped."""
        while changed:
            if not all(node.domains) or (self.injective and not self._apart(node.domains, changed)):
                return False
            touched, kept, changed = changed, [], set()
            for relation in node.relations:
                if touched.isdisjoint(relation.scope) and changed.isdisjoint(relation.scope):
                    kept.append(relation)
                    continue
                left = relation.left(node.domains)
                if not left:
                    return False
                changed |= set(relation.narrow(node.domains, left))
                if left.bit_count() != self._ways([node.domains[v] for v in relation.scope]):
                    kept.append(relation)
            node.relations = kept
        return all(node.domains)

    def _ways(self, domains: list[int]) -> int | None:
        return injections(domains, self.clash) if self.injective else _product(domains)

    def _apart(self, domains: Domains, changed: set[int]) -> bool:
        """Take from all others the value of a variable that has only one."""
        queue = [v for v in changed if domains[v].bit_count() == 1]
        for variable in queue:
            taken = self._taken[domains[variable].bit_length() - 1]
            for other, domain in enumerate(domains):
                if other != variable and domain & taken:
                    domains[other] = domain & ~taken
                    if not domains[other]:
                        return False
                    changed.add(other)
                    if domains[other].bit_count() == 1:
                        queue.append(other)
        return True


def _product(domains: Any) -> int:
    return math.prod(domain.bit_count() for domain in domains)
