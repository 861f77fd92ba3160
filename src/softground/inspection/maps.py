r"""Which maps of symbols explain every answer that can be seen: reasoning shortcuts, merging ones included.

A network that reads f(z) where z is shown, with one map f of symbols for all sites of a shared head (or one per site),
explains every answer exactly if f(z) ∈ S_y for every combination z that occurs with an answer y. The identity does; any
other such f is a *reasoning shortcut*, and no amount of training on y tells them apart. f need not be one-to-one, and
what matters are the combinations that occur: MNIST-EvenOdd has 36 such maps, two of them one-to-one, although no
renaming keeps all of S_y.

Where the maps disagree on d of L symbols, d/L bounds the mean symbol error of a network that explains everything.
He and Li count one-to-one maps only; rsbench counts merging ones too. Both are reported, each by name.

References: E. Marconato et al., Not all neuro-symbolic concepts are created equal, NeurIPS 2023; S. Bortolotti et al.,
A neuro-symbolic benchmark suite for concept quality and reasoning shortcuts (rsbench), NeurIPS 2024; H.-Y. He and
M. Li, A learnability analysis on neuro-symbolic learning, NeurIPS 2025.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import torch
from torch import Tensor

from ..task import Task
from .labels import Labels, fewest_labels, further_rows
from .propagation import Rows
from .relabelling import Relabellings, RenamableSymbols, shown
from .search import WORK, Search
from .support import Support
from .symmetry import Symmetry
from .time_limit import TimeLimit

SHOWN = 2  # examples
MOST_PER_SITE, FEW = 40, 200  # symbols, over all sites, and combinations, up to which a map for each site is counted
BRIEF = 2**18  # images tried for a remark, which is not worth a long search


@dataclass(frozen=True)
class Maps:
    """Maps of one kind: how many, which symbols they disagree on, and the fewest labels that leave one."""

    count: int
    finished: bool  # False: there are at least ``count``
    disagree: tuple[str, ...]  # symbols whose image is not the same under all of them
    labels: Labels | None = None  # None: not found in time


@dataclass(frozen=True)
class Consistent:
    """The maps that fit what is assumed to occur."""

    assumption: str  # 'if …'
    combinations: int
    symbols: int  # that occur: L
    absent: tuple[str, ...]  # those that never do, of which nothing is known
    every: Maps  # merging ones included
    one_to_one: Maps
    proved: bool  # False: more combinations might refute some
    examples: tuple[str, ...]  # some that are not the identity
    per_site: Maps | None = None  # with a map of its own at each site, where the head is shared
    further: tuple[str, ...] | None = (
        None  # combinations whose answers would leave one map; None: unknown, or none would
    )

    @property
    def settled(self) -> bool:
        """Whether the identity alone is left."""
        return self.every.count == 1 and self.every.finished


def consistent_maps(
    task: Task,
    support: Support,
    limit: TimeLimit,
    known: Relabellings | None = None,
    wide: Consistent | None = None,
    others: Support | None = None,
) -> Consistent:
    """Search for them.

    ``known`` are the renamings that keep every S_y of the support's answers, ``wide`` the maps that fit all of these
    S_y: short cuts. ``others`` are combinations that may occur beside those of the support, to choose further answers
    from.
    """
    symmetry = Symmetry(known.generators) if known else None
    search = MapSearch(task, support, limit.part(0.7), symmetry=symmetry)
    found = search.found(wide=wide)
    # More combinations leave fewer maps, and renamings that keep every S_y always fit: between the two it is settled.
    between = known is not None and known.proved and found.every.finished and found.every.count == known.count
    own = None
    few = len(support) <= FEW and sum(task.space.sizes) <= MOST_PER_SITE
    if few and task.space.head == "shared" and task.space.sites > 1 and limit.left():
        own = MapSearch(task, support, limit.part(0.3), per_site=True, work=BRIEF).counted()
    further = search.further(others) if found.every.count > 1 and others is not None else None
    return replace(found, proved=found.proved or between, per_site=own, further=further)


class SymbolRows(Rows):
    """Combinations that occur; a variable is a symbol, its value the number of the symbol that it is read as."""

    def __init__(self, task: Task, support: Support, symbols: RenamableSymbols) -> None:
        self.task, self.support, self.symbols = task, support, symbols
        self.of = symbols.of(support.z)
        scopes = torch.zeros(len(self.of), symbols.count, dtype=torch.bool).scatter_(1, self.of, True)
        distinct, group = torch.unique(scopes, dim=0, return_inverse=True)
        self.scopes = distinct.numpy()
        self.groups = list(group.argsort(stable=True).split(torch.bincount(group).tolist()))

    def domains(self) -> list[int]:
        """The images that a symbol may have: those that can stand wherever it occurs; itself where it never does."""
        found = []
        for e in range(self.symbols.count):
            at = (self.of == e).any(0)
            values = self.symbols.where[at].all(0) if bool(at.any()) else torch.arange(self.symbols.count) == e
            found.append(sum(1 << v for v in values.nonzero().flatten().tolist()))
        return found

    def fit(self, rows: Tensor, maps: Tensor) -> Tensor:
        images = maps[:, self.of[rows]]
        states = self.symbols.code[torch.arange(images.shape[2]), images]
        y = self.support.y[rows].expand(len(maps), *[-1] * self.support.y.dim()).flatten(0, 1)
        return self.task.feasible(states.flatten(0, 1), y).view(images.shape[:2])


class MapSearch:
    """Maps of symbols that fit a support: all of them, and the one-to-one ones."""

    def __init__(
        self,
        task: Task,
        support: Support,
        limit: TimeLimit,
        per_site: bool = False,
        symmetry: Symmetry | None = None,
        work: int = WORK,
    ) -> None:
        self._searches: dict[bool, Search] = {}
        self.work, self.symbols = work, RenamableSymbols(task.space, per_site=per_site)
        self.rows, self.limit, self.symmetry = SymbolRows(task, support, self.symbols), limit, symmetry
        self.domains = self.rows.domains()
        occurs = torch.zeros(self.symbols.count, dtype=torch.bool).index_fill_(0, torch.unique(self.rows.of), True)
        self.occurring = occurs.nonzero().flatten().tolist()

    def search(self, one_to_one: bool) -> Search:
        """The search for all of them, or for the one-to-one ones."""
        if one_to_one not in self._searches:
            domains, rows, limit = self._domains(one_to_one), self.rows, self.limit
            made = Search(domains, rows, limit, one_to_one, symmetry=self.symmetry, work=self.work)
            self._searches[one_to_one] = made
        return self._searches[one_to_one]

    def _domains(self, one_to_one: bool) -> list[int]:
        """A symbol that never occurs has no image, and must not take one from the others."""
        if not one_to_one:
            return self.domains
        absent = set(range(self.symbols.count)) - set(self.occurring)
        return [1 << self.symbols.count + e if e in absent else d for e, d in enumerate(self.domains)]

    def found(self, labels: bool = True, wide: Consistent | None = None) -> Consistent:
        """All that is known of the maps that fit the support."""
        every = self.counted()
        if wide is not None and self._are(wide, every):
            every, one = wide.every, wide.one_to_one
        else:
            one = self.counted(one_to_one=True)
            every = replace(every, count=max(every.count, one.count))
            if labels:
                one = replace(one, labels=self.labels(one, one_to_one=True))
                every = replace(every, labels=one.labels if every.count == one.count else self.labels(every))
        support = self.rows.support
        return Consistent(
            assumption=support.assumption,
            combinations=len(support),
            symbols=len(self.occurring),
            absent=self.absent,
            every=every,
            one_to_one=one,
            proved=support.whole or every.count == 1,
            examples=self.examples() if every.count > 1 else (),
        )

    @property
    def absent(self) -> tuple[str, ...]:
        """The symbols that never occur."""
        return tuple(name for e, name in enumerate(self.symbols.names) if e not in self.occurring)

    def _are(self, wide: Consistent, every: Maps) -> bool:
        """Whether the maps are those that fit all of S_y: these fit whatever occurs, so as many are the same."""
        sure = wide.proved and wide.every.finished and every.finished
        return sure and wide.absent == self.absent and wide.every.count == every.count

    def counted(self, one_to_one: bool = False) -> Maps:
        """How many there are, and where they disagree; the identity is always one of them."""
        search = self.search(one_to_one)
        found = search.count()
        several = [e for e in self.occurring if search.finished and found.images[e].bit_count() > 1]
        return Maps(max(found.maps, 1), search.finished, tuple(self.symbols.names[e] for e in several))

    def labels(self, maps: Maps, one_to_one: bool = False) -> Labels | None:
        """The fewest that settle which of these maps it is."""
        several = [e for e in self.occurring if self.symbols.names[e] in maps.disagree]
        return fewest_labels(self.search(one_to_one), several, self.symbols.names) if maps.finished else None

    def examples(self) -> tuple[str, ...]:
        """Some that are not the identity, in words."""
        found = (self.written(images) for images in self.search(False).maps())
        return tuple(islice(filter(None, found), SHOWN))

    def further(self, others: Support) -> tuple[str, ...] | None:
        """Some combinations whose answers would leave one map, the first by their codes where several would do."""
        task, order = self.rows.task, sorted(range(len(others)), key=others.z.tolist().__getitem__)
        others = replace(others, z=others.z[order], y=others.y[order])
        chosen = further_rows(self.search(False), SymbolRows(task, others, self.symbols), len(others))
        return None if chosen is None else tuple(map(_combination, task.space.decode(others.z[chosen])))

    def written(self, images: Sequence[int]) -> str:
        """What a map moves: '1 ↦ 2, 2 ↦ 1'; nothing for the identity."""
        names = self.symbols.names
        to = [name.split(" at site ")[0] for name in names]
        return ", ".join(f"{names[e]} ↦ {to[images[e]]}" for e in self.occurring if images[e] != e)


def _combination(symbols: Sequence[object]) -> str:
    return f"({', '.join(map(shown, symbols))})"
