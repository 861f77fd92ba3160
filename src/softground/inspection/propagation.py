r"""Tables of what rows allow, made as they become small, and propagated.

What occurs is a list of rows, each a combination of symbols with its answer. A row says which images its symbols may
have together. Where these are few they are tabulated (:mod:`.relation`), the smallest first, and propagated, which
makes other rows small. Rows whose symbols have one image left each are only tried.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .relation import Domains, Relation, injections, members

AT_ONCE = 64  # tables made before they are propagated
FIRST, LATER = 2**20, 2**14  # images of few symbols tried without narrowing a domain, before one is split; after that
TABLE = 2**9  # images that take the time of making a table
FEWEST, CHUNK = 4, 2**18  # rows tried first; pairs of a row and a map tried together


class Rows(ABC):
    """What occurs, in groups: the rows ``groups[g]`` speak of the variables ``scopes[g]``."""

    scopes: Any  # [groups, variables] bool
    groups: list[Tensor]

    @abstractmethod
    def fit(self, rows: Tensor, maps: Tensor) -> Tensor:
        """Whether maps, as images ``[maps, variables]`` of the rows' variables, fit each of the rows."""


@dataclass
class Node:
    """What is known at one place of a search."""

    domains: Domains
    relations: list[Relation]
    pending: Any  # groups of rows not tabulated yet

    def fixed(self, images: Mapping[int, int]) -> Node:
        """The same, with some images decided."""
        domains = list(self.domains)
        for variable, value in images.items():
            domains[variable] &= 1 << value
        return replace(self, domains=domains)


class Propagation:
    """Domains of images, narrowed by ``rows``; with ``injective``, those of one-to-one maps.

    ``clash[value]`` are the values, as bits, that no other variable may take beside ``value``; by default itself.
    """

    def __init__(self, width: int, rows: Rows, injective: bool, clash: Sequence[int] | None) -> None:
        self.rows, self.injective, self.clash = rows, injective, clash
        self.tried = 0  # images, a measure of the work done
        self._taken = clash or [1 << value for value in range(width)]
        self._key = torch.tensor([taken.bit_length() for taken in self._taken])

    def settle(self, node: Node, changed: Any, work: float = LATER) -> bool:
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

    def _decided(self, node: Node, groups: Any) -> bool:
        """Whether the one map that the domains leave for these groups' variables fits all their rows."""
        rows = torch.cat([self.rows.groups[g] for g in groups.tolist()])
        only = torch.tensor([[domain.bit_length() - 1 for domain in node.domains]])
        return all(bool(self.rows.fit(part, only).all()) for part in torch.split(rows, CHUNK))

    def _allowed(self, scope: Sequence[int], group: int, domains: Domains) -> Tensor:
        """The images of the variables ``scope`` within the domains that fit every row of a group."""
        values = torch.cartesian_prod(*(torch.tensor(members(domains[v])) for v in scope)).view(-1, len(scope))
        if self.injective:
            keys = self._key[values].sort(-1).values
            values = values[(keys[:, 1:] != keys[:, :-1]).all(-1)]
        rows, done, many = self.rows.groups[group], 0, FEWEST
        self.tried += TABLE + len(values)
        maps = torch.zeros(len(values), len(domains), dtype=torch.long)
        maps[:, scope] = values
        while done < len(rows) and len(maps):  # what few rows refute is not tried on the others
            some = rows[done : done + min(many, max(1, CHUNK // len(maps)))]
            maps = maps[self.rows.fit(some, maps).all(-1)]
            done, many = done + len(some), 2 * many
        return maps[:, scope]

    def _propagate(self, node: Node, changed: set[int]) -> bool:
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
        return injections(domains, self.clash) if self.injective else product(domains)

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


def product(domains: Iterable[int]) -> int:
    """The number of combinations of values."""
    return math.prod(domain.bit_count() for domain in domains)
