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

**What settles them.** A label fixes a symbol's image to itself. A set of labelled symbols leaves the identity alone
exactly if it meets, for every other map that fits, the symbols which that map moves: the smallest are minimum hitting
sets. Maps are found as they are needed: a candidate set that meets all maps found so far is tried, and either leaves
one map or brings another to be met (implicit hitting sets: R. M. Karp, Oper. Res. Lett. 2013, with others).

**After training.** What the network reads in examples that it explains are combinations with answers. A map of symbols
that fits them all would turn the network into another one that explains as much: the answers cannot tell the two apart.
The search is short: it ends after a count of images tried, for the same summary of the same run, or after a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice

import torch
from torch import Tensor

from ..files import Json
from ..task import Task
from ..walks.time_limit import TimeLimit
from .map_search import WORK, FittedRows, ImageSearch, Symmetry
from .renamings import Relabellings
from .support import Support, SymbolRows
from .symbols import RenamableSymbols, shown

SHOWN = 2  # examples
MOST_PER_SITE, FEW = 40, 200  # symbols, over all sites, and combinations, up to which a map for each site is counted
BRIEF = 2**18  # images tried for a remark, which is not worth a long search
MOST_MAPS = 2_000  # that further answers are chosen by
MOST_READINGS = 2_000


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
    absent: tuple[str, ...]  # those that never do, about which nothing is known
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
    if known is not None and known.proved:
        search.fitting = symmetry
    found = search.found(wide=wide)
    # More combinations leave fewer maps, and renamings that keep every S_y always fit: between the two it is settled.
    between = known is not None and known.proved and found.every.count == known.count
    own = None
    few = len(support) <= FEW and sum(task.space.sizes) <= MOST_PER_SITE
    if few and task.space.head == "shared" and task.space.sites > 1 and limit.left():
        own = MapSearch(task, support, limit.part(0.3), per_site=True, work=BRIEF).counted()
    further = search.further(others) if found.every.count > 1 and others is not None else None
    return replace(found, proved=found.proved or between, per_site=own, further=further)


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
        self._searches: dict[bool, ImageSearch] = {}
        self.fitting: Symmetry | None = None  # renamings proved to fit whatever occurs
        self.work, self.symbols = work, RenamableSymbols(task.space, per_site=per_site)
        self.rows, self.limit, self.symmetry = SymbolRows(task, support, self.symbols), limit, symmetry
        self.domains = self.rows.domains()
        occurs = torch.zeros(self.symbols.count, dtype=torch.bool).index_fill_(0, torch.unique(self.rows.of), True)
        self.occurring = occurs.nonzero().flatten().tolist()

    def search(self, one_to_one: bool) -> ImageSearch:
        """The search for all of them, or for the one-to-one ones."""
        if one_to_one not in self._searches:
            domains, rows, limit = self._domains(one_to_one), self.rows, self.limit
            made = ImageSearch(domains, rows, limit, one_to_one, symmetry=self.symmetry, work=self.work)
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
        """Whether these are the maps that fit all of S_y. Those always fit, so equal counts mean equal maps."""
        sure = wide.proved and wide.every.finished and every.finished
        return sure and wide.absent == self.absent and wide.every.count == every.count

    def counted(self, one_to_one: bool = False) -> Maps:
        """How many there are, and where they disagree; the identity and all renamings that fit are among them."""
        search, least, group = self.search(one_to_one), 1, self.fitting
        found = search.count()
        several = [e for e in self.occurring if search.finished and found.images[e].bit_count() > 1]
        if group is not None and not search.finished:
            several = [e for e in self.occurring if e in group.orbit_of]
            for e in self.occurring:  # renamings that differ on a symbol that occurs are different maps
                least, group = least * group.orbit_of.get(e, 1).bit_count(), group.fixing(e)
        return Maps(max(found.maps, least), search.finished, tuple(self.symbols.names[e] for e in several))

    def labels(self, maps: Maps, one_to_one: bool = False) -> Labels | None:
        """The fewest that settle which of these maps it is."""
        several = [e for e in self.occurring if self.symbols.names[e] in maps.disagree]
        return fewest_labels(self.search(one_to_one), several, self.symbols.names) if maps.finished else None

    def examples(self) -> tuple[str, ...]:
        """Some maps other than the identity, in words."""
        renamings = self.fitting.generators if self.fitting else ()
        found = map(self.written, chain(self.search(False).maps(), renamings))
        return tuple(dict.fromkeys(islice(filter(None, found), SHOWN)))

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


@dataclass(frozen=True)
class Labels:
    """The smallest sets of symbols whose labels leave one map."""

    fewest: int
    sets: int  # how many there are of this size
    example: tuple[str, ...]
    finished: bool = True  # False: there are at least this many sets


def fewest_labels(search: ImageSearch, symbols: Sequence[int], names: Sequence[str]) -> Labels | None:
    """The smallest sets among ``symbols``, which are those that maps disagree on; None where time was up."""
    moved: list[int] = []
    for size in range(len(symbols) + 1):
        found: list[tuple[int, ...]] = []
        for chosen in combinations(symbols, size):
            bits = sum(1 << e for e in chosen)
            if not all(bits & others for others in moved):
                continue
            other = 0
            for images in islice(search.maps({e: e for e in chosen}), 2):
                other = other or sum(1 << e for e in symbols if images[e] != e)
            if not (search.limit.left() and search.finished):
                return Labels(size, len(found), _named(found[0], names), False) if found else None
            if other:
                moved.append(other)
            else:
                found.append(chosen)
        if found:
            return Labels(size, len(found), _named(found[0], names))
    return None


def _named(chosen: Sequence[int], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(names[e] for e in chosen)


def further_rows(search: ImageSearch, rows: FittedRows, count: int) -> list[int] | None:
    """Some of ``count`` rows that refute all maps but the identity, chosen greedily; None where that is not known."""
    maps = list(islice(search.maps(), MOST_MAPS + 1))
    if not search.finished or len(maps) > MOST_MAPS:
        return None
    images = torch.tensor(maps)
    fits = torch.cat(
        [rows.fit(part, images) for part in torch.split(torch.arange(count), max(1, 2**18 // len(maps)))], 1
    )
    chosen: list[int] = []
    left: Tensor = torch.ones(len(maps), dtype=torch.bool)
    while int(left.sum()) > 1:
        refuted = (~fits[left]).sum(0)
        if not int(refuted.max()):
            return None  # these maps fit all of the rows
        chosen.append(int(refuted.argmax()))
        left &= fits[:, chosen[-1]]
    return chosen


def other_maps(task: Task, z: Tensor, y: Tensor, seconds: float = 1.0) -> Json | None:
    """What fits the readings ``z`` of examples with encoded answers ``y``, as plain values and in words.

    None where there are no readings, or symbols are reals.
    """
    if not task.space.categorical or not len(z):
        return None
    flat = torch.cat([z, y.reshape(len(y), -1)], 1)[:MOST_READINGS].cpu()
    rows = torch.unique(flat, dim=0)
    z, y = rows[:, : z.shape[1]], rows[:, z.shape[1] :].reshape(-1, *y.shape[1:])
    found = MapSearch(task, Support(z, y, ""), TimeLimit(seconds), work=BRIEF).found(labels=False)
    every, one = found.every, found.one_to_one
    plain: Json = {"combinations": len(z), "maps": every.count, "one_to_one": one.count}
    plain |= {"finished": every.finished and one.finished, "disagree": list(every.disagree)}
    plain |= {"examples": list(found.examples), "never_read": list(found.absent)}
    return plain | {"text": _words(plain)}


def _words(found: Json) -> str:
    """The summary's figures in sentences."""
    others, one, least = found["maps"] - 1, found["one_to_one"] - 1, "" if found["finished"] else "at least "
    words = (
        f"In training examples that it explains the network reads {found['combinations']:,} different combinations. "
    )
    if others:
        such = f", such as {'; '.join(found['examples'])}" if found["examples"] else ""
        words += (
            f"Besides itself, {least}{others:,} map{'s' * (others > 1)} of symbols, {least}{one:,} one-to-one, would "
            f"turn them into others that explain these answers as well{such}. The "
            "answers cannot tell which of these networks it is: labels of a few symbols can (see softground inspect)."
        )
    else:
        sure = "that was found would" if least else "would"
        words += (
            f"No other map of symbols {sure} turn them into others that explain these answers as well. That does not "
            "prove them right: a network that reads several symbols as one has fewer combinations to change."
        )
    if found["never_read"]:
        words += f" It never reads {{{' '.join(found['never_read'])}}}: where these occur, it takes them for others."
    return words
