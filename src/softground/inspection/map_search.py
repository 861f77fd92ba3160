r"""All maps of symbols that fit what occurs, counted or listed: a search by constraint propagation.

**Relations.** A variable is a symbol whose image under the map is sought; its *domain*, the images still possible, are
the bits of a whole number. A :class:`ImageTable` lists the combinations of images that some variables may have. Each
value of each variable owns the set of combinations that hold it, again as bits, so that a few operations on long
numbers find the combinations that are left and the values without any, which leave their domains: generalised arc
consistency by compact tables (J. Demeulenaere et al., CP 2016).

**Symmetry.** If a map f fits what occurs and a renaming g keeps every S_y, then g∘f fits as well. So there are as many
maps that take a symbol to t as to any other symbol of t's orbit, and one symbol of each orbit is tried; below it, the
renamings that leave t alone (Schreier and Sims).

**Propagation.** What occurs is a list of rows, each a combination of symbols with its answer. A row says which images
its symbols may have together. Where these are few they are tabulated, the smallest first, and propagated, which makes
other rows small. Rows whose symbols have one image left each are only tried.

**Search.** What propagation leaves open is split: into parts that share no row, whose counts multiply, else by the
images of one symbol, whose counts add up. A part with a single table is counted by its length, one without any by the
product of its domains or, where maps are to be one-to-one, by a permanent, so that a count may be large and yet be
found at once. Every row is tried in the end: counts are exact, unless the search is stopped, after a time or some
number of splits; then they are too small.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..walks.time_limit import TimeLimit

Domains = list[int]
AT_ONCE = 64  # tables made before they are propagated
FIRST, LATER = 2**20, 2**14  # images of few symbols tried without narrowing a domain, before one is split; after that
TABLE = 2**9  # images that take the time of making a table
FEWEST, CHUNK, PIECE = 4, 2**15, 0.1  # rows tried first; pairs of a row and a map tried together, and seconds
WORK = 2**22  # most images tried, whatever the time, so that a search ends the same way everywhere
NODE = 2**10  # as many as a node takes the time of


@lru_cache(maxsize=2**16)
def members(domain: int) -> tuple[int, ...]:
    """The values in a domain.

    >>> members(0b1011)
    (0, 1, 3)
    """
    return tuple(value for value in range(domain.bit_length()) if domain >> value & 1)


class ImageTable:
    """Combinations of values that the variables of ``scope`` may take: ``allowed[combinations, variables]``."""

    def __init__(self, scope: Sequence[int], allowed: Tensor) -> None:
        self.scope, rows = tuple(scope), allowed.numpy()
        self.holding = [{int(v): _bits(column == v) for v in np.unique(column)} for column in rows.T]
        self.every = (1 << len(rows)) - 1

    def left(self, domains: Domains) -> int:
        """The combinations that the domains leave, as bits."""
        left = self.every
        for variable, holding in zip(self.scope, self.holding, strict=True):
            domain, some = domains[variable], 0
            for value, rows in holding.items():
                if domain >> value & 1:
                    some |= rows
            left &= some
        return left

    def narrow(self, domains: Domains, left: int) -> list[int]:
        """Take the values without a combination from the domains; gives the variables that lost any."""
        changed = []
        for variable, holding in zip(self.scope, self.holding, strict=True):
            domain = 0
            for value, rows in holding.items():
                if rows & left:
                    domain |= 1 << value
            if domains[variable] & ~domain:
                domains[variable] &= domain
                changed.append(variable)
        return changed


def injections(domains: Sequence[int], most: int = 2**20) -> int | None:
    """In how many ways variables take different values of their domains; None where that takes too long to count.

    It is the permanent of a 0/1 matrix: a product where domains are equal or disjoint, else a sum over the sets of
    values that are taken.

    >>> injections([0b111, 0b111, 0b1000]), injections([0b011, 0b110]), injections([1, 1])
    (6, 3, 0)
    """
    single = next((domain for domain in domains if domain.bit_count() == 1), 0)
    if single:
        rest = list(domains)
        rest.remove(single)
        return injections([domain & ~single for domain in rest], most)
    distinct = Counter(domains)
    if sum(distinct).bit_count() == sum(domain.bit_count() for domain in distinct):
        return math.prod(math.perm(domain.bit_count(), count) for domain, count in distinct.items())
    ways = {0: 1}  # by the values that are taken
    for domain in sorted(domains, key=int.bit_count):
        after: dict[int, int] = {}
        for taken, count in ways.items():
            for value in members(domain & ~taken):
                after[taken | 1 << value] = after.get(taken | 1 << value, 0) + count
        ways = after
        if len(ways) > most:
            return None
    return sum(ways.values())


def _bits(flags: Any) -> int:
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


class Symmetry:
    """The group generated by some renamings, each a list of images."""

    def __init__(self, generators: Sequence[Sequence[int]] = ()) -> None:
        self.generators = generators
        self._fixing: dict[int, Symmetry] = {}

    @cached_property
    def group(self) -> Any:
        """The group, for sympy."""
        from sympy.combinatorics import Permutation, PermutationGroup  # here, because it takes long to import

        return PermutationGroup([Permutation(list(g)) for g in self.generators])

    @cached_property
    def order(self) -> int:
        """How many renamings there are, the identity included."""
        return int(self.group.order()) if self.generators else 1

    def orbit(self, value: int) -> set[int]:
        """What renamings take a value to."""
        return set(self.group.orbit(value)) if self.generators else {value}

    def orbits(self) -> list[list[int]]:
        """The sets of values that renamings take to each other."""
        return [sorted(orbit) for orbit in self.group.orbits()] if self.generators else []

    @cached_property
    def orbit_of(self) -> dict[int, int]:
        """The orbit of every value that has others, as bits."""
        orbits = [sum(1 << e for e in orbit) for orbit in self.orbits() if len(orbit) > 1]
        return {value: orbit for orbit in orbits for value in members(orbit)}

    def apart(self, domain: int) -> list[tuple[int, int]]:
        """One value of each orbit in a domain, and how many it stands for.

        >>> Symmetry([[1, 0, 2], [0, 2, 1]]).apart(0b1111)
        [(0, 3), (3, 1)]
        """
        found = []
        while domain:
            value = (domain & -domain).bit_length() - 1
            orbit = self.orbit_of.get(value, 1 << value)
            found.append((value, orbit.bit_count()))
            domain &= ~orbit
        return found

    def closure(self, values: int) -> int:
        """All orbits that meet these values."""
        for value in members(values):
            values |= self.orbit_of.get(value, 0)
        return values

    def fixing(self, value: int) -> Symmetry:
        """The renamings that leave a value alone."""
        if value not in self.orbit_of:
            return self
        if value not in self._fixing:
            self._fixing[value] = Symmetry([g.array_form for g in self.group.stabilizer(value).generators])
        return self._fixing[value]


class FittedRows(ABC):
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
    relations: list[ImageTable]
    pending: Any  # groups of rows not tabulated yet

    def fixed(self, images: Mapping[int, int]) -> Node:
        """The same, with some images decided."""
        domains = list(self.domains)
        for variable, value in images.items():
            domains[variable] &= 1 << value
        return replace(self, domains=domains)


class Propagation:
    """Domains of images, narrowed by ``rows``; with ``injective``, those of one-to-one maps."""

    def __init__(self, rows: FittedRows, injective: bool, limit: TimeLimit) -> None:
        self.rows, self.injective, self.limit = rows, injective, limit
        self.tried = 0  # images, a measure of the work done
        self.pairs = 2**6  # of a row and a map, tried together
        self.cut = False  # whether time was up before all rows were tried

    def settle(self, node: Node, changed: Any, work: float = LATER) -> bool:
        """Propagate, tabulate what has become small, and so on; whether any map may be left: unknown once ``cut``."""
        room, before = work, 0
        while self._propagate(node, set(changed)):
            if self._over():
                return True
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
                node.relations.append(ImageTable(scope, self._allowed(scope, group, node.domains)))
                changed |= set(scope)
        return False

    def _over(self) -> bool:
        self.cut = self.cut or not self.limit.left()
        return self.cut

    def _fit(self, rows: Tensor, maps: Tensor) -> Tensor:
        """``rows.fit`` in pieces of about :data:`PIECE` seconds; False for the rest once time is up."""
        fits, done = torch.zeros(len(maps), len(rows), dtype=torch.bool), 0
        while done < len(maps) and not self._over():
            piece, began = slice(done, done + max(1, self.pairs // len(rows))), self.limit.clock()
            fits[piece] = self.rows.fit(rows, maps[piece])
            slow, done = self.limit.clock() - began > PIECE, piece.stop
            self.pairs = max(1, self.pairs // 2) if slow else min(CHUNK, 2 * self.pairs)
        return fits

    def _decided(self, node: Node, groups: Any) -> bool:
        """Whether the one map that the domains leave for these groups' variables fits all their rows."""
        rows = torch.cat([self.rows.groups[g] for g in groups.tolist()])
        only = torch.tensor([[domain.bit_length() - 1 for domain in node.domains]])
        return all(bool(self._fit(part, only).all()) for part in torch.split(rows, self.pairs)) or self.cut

    def _allowed(self, scope: Sequence[int], group: int, domains: Domains) -> Tensor:
        """The images of the variables ``scope`` within the domains that fit every row of a group."""
        values = torch.cartesian_prod(*(torch.tensor(members(domains[v])) for v in scope)).view(-1, len(scope))
        if self.injective:
            ordered = values.sort(-1).values
            values = values[(ordered[:, 1:] != ordered[:, :-1]).all(-1)]
        rows, done, many = self.rows.groups[group], 0, FEWEST
        self.tried += TABLE + len(values)
        maps = torch.zeros(len(values), len(domains), dtype=torch.long)
        maps[:, scope] = values
        while done < len(rows) and len(maps):  # what few rows refute is not tried on the others
            some = rows[done : done + min(many, max(1, self.pairs // len(maps)))]
            maps = maps[self._fit(some, maps).all(-1)]
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
        return injections(domains) if self.injective else product(domains)

    def _apart(self, domains: Domains, changed: set[int]) -> bool:
        """Take from all others the value of a variable that has only one."""
        queue = [v for v in changed if domains[v].bit_count() == 1]
        for variable in queue:
            taken = domains[variable]
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


@dataclass(frozen=True)
class Counted:
    """How many maps there are, and the images that each variable has under them, as bits."""

    maps: int
    images: dict[int, int]


class ImageSearch:
    """Maps within ``domains`` that fit ``rows``; with ``injective``, the one-to-one ones among them.

    ``symmetry`` must take maps that fit to maps that fit.
    """

    def __init__(
        self,
        domains: Sequence[int],
        rows: FittedRows,
        limit: TimeLimit,
        injective: bool = False,
        symmetry: Symmetry | None = None,
        work: int = WORK,
    ) -> None:
        self.work = work
        self.symmetry = symmetry or Symmetry()
        self.rows, self.limit, self.injective = rows, limit, injective
        self.propagation = Propagation(rows, injective, limit)
        self.finished = True
        self.root = Node(list(domains), [], np.arange(len(rows.scopes)))
        self.possible = self.propagation.settle(self.root, range(len(domains)), min(FIRST, work))

    def count(self) -> Counted:
        """How many there are: too few where the search was not :attr:`finished`."""
        self.propagation.tried, self.finished = 0, not self.propagation.cut
        if not self.possible or not self.finished:
            return Counted(0, dict.fromkeys(range(len(self.root.domains)), 0))
        return self._count(range(len(self.root.domains)), self.root, self.symmetry)

    def maps(self, fixed: Mapping[int, int] | None = None) -> Iterator[tuple[int, ...]]:
        """Them, one after the other, each symbol's own place first; with the images ``fixed``, if given."""
        self.propagation.tried, node = 0, self.root.fixed(fixed or {})
        possible = self.possible and self.propagation.settle(node, fixed or ())
        self.finished = not self.propagation.cut
        if possible and self.finished:
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
        possible = self.propagation.settle(below, [variable])
        self.finished = self.finished and not self.propagation.cut
        return below if possible and not self.propagation.cut else None

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
        total = injections(list(domains.values()))
        if total is None:
            self.finished = False
            return Counted(0, dict.fromkeys(domains, 0))
        images = dict(domains)
        for v, domain in domains.items():
            if domain.bit_count() > 1 and total:
                one = [value for value in members(domain) if injections([*(domains | {v: 1 << value}).values()])]
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
