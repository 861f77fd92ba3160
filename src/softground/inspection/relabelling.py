r"""Whether y can identify the symbols: relabellings of the alphabet that keep every S_y of the sample.

A relabelling π renames symbols, the same way at every site of a group of sites that share an alphabet. If
π(S_y) = S_y for all y, then a network that reads π(z) explains every answer as well as one that reads z: y cannot tell
them apart, and training may end with either. The symbols are then named only up to π, a *reasoning shortcut*.

Relabellings that keep S_y form a group G, given by generators (Schreier and Sims): for each symbol b and each candidate
image t one relabelling is searched that fixes all symbols before b and takes b to t. The search assigns one symbol
after the other and turns back as soon as

- a symbol would be taken to one with other counts: if π(S_y) = S_y, then s occurs as often as π(s) at each site of
  each S_y, by the marginals of the uniform law on S_y;
- a solution all of whose symbols are assigned would be taken to something infeasible.

Where S_y is not listed the solutions tried are those drawn, and what is left is 'not refuted by N solutions'. All of
S_y is meant throughout: among the combinations that occur in the data there may be fewer that refute a renaming. Only
one-to-one relabellings are looked for; a shortcut may also merge symbols.

References: E. Marconato, S. Teso, A. Vergari and A. Passerini, Not all neuro-symbolic concepts are created equal:
analysis and mitigation of reasoning shortcuts, NeurIPS 2023; C. C. Sims, Computational methods in the study of
permutation groups (1970).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..task import Task
from .renamable_symbols import RenamableSymbols
from .sample import Found, Sample
from .time_limit import TimeLimit

NODES = 4_000  # symbols assigned in all searches together
EARLY = 256  # solutions tried each time during a search
SHOWN = 4
ROUNDING = 1e-9  # shares of S_y that are nearer than this are equal


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

    @property
    def identifies(self) -> bool:
        """Whether only the identity is left."""
        return self.count == 1 and self.finished


def relabellings(task: Task, sample: Sample, limit: TimeLimit, nodes: int = NODES) -> Relabellings:
    """Search for them."""
    from sympy.combinatorics import Permutation, PermutationGroup  # here, because it takes long to import

    search = _Search(task, sample, limit, nodes)
    symbols, size = search.symbols, search.symbols.count
    found = [Permutation(size - 1)]
    for base in reversed(range(size)):
        for image in range(base + 1, size):
            if search.alike[base][image] and image not in PermutationGroup(found).orbit(base):
                images = search.extend([*range(base), image])
                found += [] if images is None else [Permutation(images)]
    group: Any = PermutationGroup(found)
    count = int(group.order())
    orbits = [sorted(orbit) for orbit in group.orbits() if len(orbit) > 1]
    return Relabellings(
        # What was refuted is refuted for good; what was kept is proved only where all solutions were tried.
        count=count,
        proved=search.finished and (count == 1 or all(f.whole for f in sample.found)),
        finished=search.finished,
        examples=tuple(symbols.cycles(g.cyclic_form) for g in found[:0:-1][:SHOWN]),
        groups=symbols.groups(),
        confused=tuple(symbols.listed(orbit) for orbit in orbits),
        nameless=sum(map(len, orbits)) == size,
        answers=len(sample.found),
        solutions=sum(len(f.z) for f in sample.found),
    )


class _Search:
    def __init__(self, task: Task, sample: Sample, limit: TimeLimit, nodes: int) -> None:
        self.task, self.sample, self.limit, self.nodes = task, sample, limit, nodes
        self.symbols = RenamableSymbols(task.space, torch.cat([f.z[:EARLY] for f in sample.found]))
        # A symbol may take the place of one that stands at the same sites, and equally often.
        known = [self._standing(f.shares) for f in sample.found if f.shares is not None]
        standing = torch.cat([self.symbols.where.double(), *known]).T.contiguous()
        self.alike = (torch.cdist(standing, standing, p=torch.inf) <= ROUNDING).tolist()
        self.finished = True
        # A symbol's number is its depth in the search; a solution can be tried at the depth of its last symbol.
        self.tries = [self._by_depth(found) for found in sample.found]

    def _standing(self, shares: Tensor) -> Tensor:
        """Of each symbol, how often it stands at each site: ``[sites, symbols]``, 0 where it cannot stand."""
        return torch.where(self.symbols.where, shares.gather(1, self.symbols.code), 0.0)

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

    def _stays(self, found: Found, z: Tensor, images: Tensor) -> bool:
        y = found.y.expand(len(z), *found.y.shape[1:])
        return bool(self.task.feasible(self.symbols.relabelled(z, images), y).all())
