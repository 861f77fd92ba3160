r"""Whether y can identify the symbols: relabellings of the alphabet that keep every S_y of the sample.

A relabelling π renames symbols, the same way at every site of a group of sites that share an alphabet. If
π(S_y) = S_y for all y, then a network that reads π(z) explains every answer as well as one that reads z: y cannot tell
them apart, and training may end with either. The symbols are then named only up to π, a *reasoning shortcut*.

Relabellings that keep S_y form a group, given by generators (Schreier and Sims): for each symbol b and each candidate
image t one is searched that fixes all symbols before b and takes b to t. The search assigns one symbol after the other.
It turns back as soon as a symbol would be taken to one that occurs more or less often at some site of some S_y (by the
marginals of the uniform law), or a solution all of whose symbols are assigned to something infeasible.

Where S_y is not listed the solutions tried are those drawn, and what is left is 'not refuted by N solutions'. All of
S_y is meant throughout: among the combinations that occur in the data there may be fewer that refute a renaming. Only
one-to-one relabellings are looked for; a shortcut may also merge symbols.

References: E. Marconato, S. Teso, A. Vergari and A. Passerini, Not all neuro-symbolic concepts are created equal:
analysis and mitigation of reasoning shortcuts, NeurIPS 2023; C. C. Sims, Computational methods in the study of
permutation groups (1970).

**Scans.** A scan is an automaton. Reading z and its renamed copy side by side, it passes through pairs of states; every
pair that some z reaches is found layer by layer. The renaming f keeps S_y (f(S_y) ⊆ S_y, and so equal, as f is
one-to-one) exactly if at the end no pair's first state is accepted and its second is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..constraints import Scan
from ..spaces.categorical import Categorical
from ..task import Task
from ..walks.solutions import Found, Sample
from ..walks.time_limit import TimeLimit
from .map_search import Symmetry

NODES = 4_000  # most symbols assigned, in all searches together
EARLY = 256  # most solutions tried at a time during a search
SHOWN = 4  # examples
ROUNDING = 1e-9  # shares of S_y that differ by less are equal
MOST_PAIRS = 500_000


@dataclass(frozen=True)
class Relabellings:
    """How many relabellings keep every S_y of the sample, the identity included."""

    count: int
    proved: bool  # False: not refuted by the solutions that were tried, or not finished
    finished: bool  # False: there may be more than ``count``
    examples: tuple[str, ...]  # some that generate the others
    groups: tuple[str, ...]  # the alphabets within which symbols may change places
    confused: tuple[str, ...]  # symbols that some relabelling takes to each other: y cannot tell them apart
    nameless: bool  # whether no symbol at all is told apart from the others
    answers: int
    solutions: int
    generators: tuple[tuple[int, ...], ...] = ()  # images of the symbols, in the order of :class:`RenamableSymbols`

    @property
    def identifies(self) -> bool:
        """Whether only the identity is left."""
        return self.count == 1 and self.finished


def relabellings(task: Task, sample: Sample, limit: TimeLimit, nodes: int = NODES) -> Relabellings:
    """Search for them."""
    search = _Search(task, sample, limit, nodes)
    symbols, size, group = search.symbols, search.symbols.count, Symmetry()
    for base in reversed(range(size)):
        for image in range(base + 1, size):
            if search.alike[base][image] and image not in group.orbit(base):
                images = search.extend([*range(base), image])
                group = group if images is None else Symmetry([*group.generators, images])
    orbits = sorted((o for o in group.orbits() if len(o) > 1), key=lambda o: min(symbols.order[e] for e in o))
    return Relabellings(
        # What was refuted is refuted for good; what was kept is proved where all solutions were tried, or by the scan.
        count=group.order,
        proved=search.finished and all(search.proved(f, g) for f in sample.found for g in group.generators),
        finished=search.finished,
        examples=tuple(symbols.cycles(g) for g in group.generators[::-1][:SHOWN]),
        groups=tuple(symbols.listed(kind) for kind in symbols.kinds() if len(kind) > 1),
        confused=tuple(symbols.listed(orbit) for orbit in orbits),
        nameless=sum(map(len, orbits)) == size,
        answers=len(sample.found),
        solutions=sum(len(f.z) for f in sample.found),
        generators=tuple(symbols.unordered(g) for g in group.generators),
    )


class RenamableSymbols:
    """The symbols that may be renamed, numbered; a relabelling is a list of their images.

    They are those of a shared head, or of each site where each has a head of its own. A symbol may take the place only
    of one that stands in the alphabets of the same sites, its *kind*: then every relabelled state is a state again.
    Given ``solutions``, symbols are numbered so that many solutions are made of the first few; with ``per_site``, each
    site's are its own even if the head is shared.
    """

    def __init__(self, space: Categorical, solutions: Tensor | None = None, per_site: bool = False) -> None:
        layout, shared = space.layout(torch.device("cpu")), space.head == "shared" and not per_site
        own = torch.arange(space.width) + (layout.sizes.cumsum(0) - layout.sizes)[:, None]
        number = layout.columns[:, : space.width] if shared else own
        number = number.masked_fill(~layout.allowed, -1)  # [sites, K]
        self.count = int(number.max()) + 1
        self.order = list(range(self.count)) if solutions is None else _early(number, solutions, self.count)
        self.number = torch.where(number < 0, number, torch.tensor(self.order).argsort()[number])
        self.code = torch.zeros(space.sites, self.count, dtype=torch.long)
        self.where = torch.zeros(space.sites, self.count, dtype=torch.bool)
        self.names = [""] * self.count
        for site, alphabet in enumerate(space.alphabets):
            row = self.number[site, : len(alphabet)]
            self.code[site, row] = torch.arange(len(alphabet))
            self.where[site, row] = True
            for symbol, e in zip(alphabet, row.tolist(), strict=True):
                self.names[e] = shown(symbol) if shared else f"{shown(symbol)} at site {site}"

    def of(self, z: Tensor) -> Tensor:
        """Codes ``[N, sites]`` as numbers of symbols."""
        return _look_up(self.number, z)

    def relabelled(self, z: Tensor, images: Tensor) -> Tensor:
        """States with every symbol renamed."""
        return _look_up(self.code, images[self.of(z)])

    def kinds(self) -> list[list[int]]:
        """Symbols that stand in the alphabets of the same sites."""
        kinds: dict[tuple[bool, ...], list[int]] = {}
        for e in sorted(range(self.count), key=self.order.__getitem__):
            kinds.setdefault(tuple(self.where[:, e].tolist()), []).append(e)
        return list(kinds.values())

    def listed(self, members: Sequence[int]) -> str:
        """Some symbols, in the order of the alphabets."""
        names = [self.names[e] for e in sorted(members, key=self.order.__getitem__)]
        return " ".join(names) if len(names) <= 16 else f"{names[0]} … {names[-1]}"

    def unordered(self, images: Sequence[int]) -> tuple[int, ...]:
        """A relabelling in the order of the alphabets."""
        found = list(range(self.count))
        for e, image in enumerate(images):
            found[self.order[e]] = self.order[image]
        return tuple(found)

    def cycles(self, images: Sequence[int]) -> str:
        """A relabelling as people write it: ``0 ↔ 1, 2 → 3 → 4 → 2``."""
        named, seen = [], set[int]()
        for first in range(self.count):
            cycle, e = [], first
            while e not in seen:
                seen.add(e)
                cycle.append(self.names[e])
                e = images[e]
            named += [cycle] if len(cycle) > 1 else []
        return ", ".join(" ↔ ".join(c) if len(c) == 2 else " → ".join([*c, c[0]]) for c in named)


def shown(symbol: object) -> str:
    """A symbol as text; one that would be invisible, by its repr.

    >>> shown(3), shown("")
    ('3', "''")
    """
    return str(symbol) if str(symbol).strip() else repr(symbol)


def _look_up(table: Tensor, z: Tensor) -> Tensor:
    return table.expand(len(z), -1, -1).gather(2, z[..., None]).squeeze(2)


def _early(number: Tensor, solutions: Tensor, count: int) -> list[int]:
    """All symbols, those first that complete a solution with as few new symbols as possible."""
    of, order = _look_up(number, solutions), list[int]()
    known = torch.zeros(count, dtype=torch.bool)
    while len(order) < count:
        new = (~known)[of].sum(-1)
        fewest = new.masked_fill(new == 0, len(number) + 1).argmin()
        chosen = of[fewest] if bool(new.any()) else torch.arange(count)
        order += [e for e in dict.fromkeys(chosen.tolist()) if not known[e]]
        known[chosen] = True
    return order


class _Search:
    def __init__(self, task: Task, sample: Sample, limit: TimeLimit, nodes: int) -> None:
        self.task, self.sample, self.limit, self.nodes = task, sample, limit, nodes
        self.symbols = RenamableSymbols(task.space, torch.cat([f.z[:EARLY] for f in sample.found]))
        # A symbol may take the place of one that stands at the same sites, and equally often.
        where, code = self.symbols.where, self.symbols.code
        known = [torch.where(where, f.shares.gather(1, code), 0.0) for f in sample.found if f.shares is not None]
        standing = torch.cat([where.double(), *known]).T.contiguous()
        self.alike = (torch.cdist(standing, standing, p=torch.inf) <= ROUNDING).tolist()
        self.finished = True
        # A symbol's number is its depth in the search; a solution can be tried at the depth of its last symbol.
        self.tries = [self._by_depth(found) for found in sample.found]

    def _by_depth(self, found: Found) -> dict[int, Tensor]:
        depth = self.symbols.of(found.z).amax(-1)
        return {d: found.z[depth == d][:EARLY] for d in set(depth.tolist())}

    def extend(self, images: list[int]) -> list[int] | None:
        """Assign the next symbol, in every way that fits, until all are."""
        depth = len(images)
        self.nodes -= 1
        if self.nodes < 0 or not self.limit.left():
            self.finished = False
            return None
        whole = torch.tensor([*images, *[0] * (self.symbols.count - depth)])
        pairs = list(zip(self.sample.found, self.tries, strict=True))
        if not all(self._stays(found, tries[depth - 1], whole) for found, tries in pairs if depth - 1 in tries):
            return None
        if depth == self.symbols.count:
            return images if all(self._stays(found, found.z, whole) for found in self.sample.found) else None
        # Its own place first, or that of the symbol that took it: exchanges of two symbols are found at once.
        taken = images.index(depth) if depth in images else depth
        for image in sorted(range(self.symbols.count), key=lambda e: (e != taken, e)):
            if image not in images and self.alike[depth][image]:
                found = self.extend([*images, image])
                if found is not None or not self.finished:
                    return found
        return None

    def proved(self, found: Found, images: Sequence[int]) -> bool:
        """Whether a relabelling that was not refuted surely keeps an answer's S_y."""
        scan = self.task.constraint
        if found.whole or not isinstance(scan, Scan):
            return found.whole
        codes = torch.arange(self.task.space.width)[:, None].expand(-1, self.task.space.sites)
        return keeps(scan, self.symbols.relabelled(codes, torch.tensor(images)).T, found.y)

    def _stays(self, found: Found, z: Tensor, images: Tensor) -> bool:
        return bool(self.task.feasible(self.symbols.relabelled(z, images), found.answers(len(z))).all())


def keeps(scan: Scan, images: Tensor, y: Tensor) -> bool:
    """Whether codes renamed by ``images[sites, K]`` stay in S_y for the encoded answer ``y[1]``; False if unknown."""
    tables = scan.tables(y.device)
    cues, accepts = tables.at(y)
    first = second = torch.zeros(1, dtype=torch.long)
    for place, layer in enumerate(tables.layers):
        step, site = layer[int(cues[0, place])], int(tables.order[place])
        codes = torch.arange(scan.space.sizes[site])
        first, second = step[first][:, codes].flatten(), step[second][:, images[site, codes]].flatten()
        width = int(max(first.max(), second.max())) + 1
        pairs = torch.unique(first * width + second)
        if len(pairs) > MOST_PAIRS:
            return False
        first, second = pairs // width, pairs % width
    return bool((accepts[0, second] | ~accepts[0, first]).all())
