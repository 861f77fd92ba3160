r"""Whether y can identify the symbols: relabellings of the alphabet that keep every S_y of the sample.

A relabelling π renames symbols, the same way at every site of a group of sites that share an alphabet. If
π(S_y) = S_y for all y, then a network that reads π(z) explains every answer as well as one that reads z: y cannot tell
them apart, and training may end with either. The symbols are then named only up to π, a *reasoning shortcut*.

Relabellings that keep S_y form a group G, so that it need not be listed. For a base b₁, b₂, … of the symbols, |G| is
the product of the orbits' sizes in the chain of stabilisers (Schreier and Sims): for each i and each candidate image t
of b_i one relabelling is searched that fixes b₁ … b_{i−1} and takes b_i to t. The search assigns one symbol after the
other and turns back as soon as

- a symbol would be taken to one with other counts: how often it occurs at each site in each S_y, alone and together
  with each symbol assigned before (only where S_y is listed; for a scan the counts come from its marginals);
- a solution all of whose symbols are assigned would be taken to something infeasible.

Where S_y is not listed the solutions tried are those drawn, and what is left is 'not refuted by N solutions'. Only
one-to-one relabellings are looked for; a shortcut may also merge symbols.

References: E. Marconato, S. Teso, A. Vergari and A. Passerini, Not all neuro-symbolic concepts are created equal:
analysis and mitigation of reasoning shortcuts, NeurIPS 2023; C. C. Sims, Computational methods in the study of
permutation groups (1970).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..spaces.categorical import Categorical
from ..task import Task
from .colours import colours
from .elements import Elements
from .limit import Limit
from .sample import Found, Sample

NODES = 4_000  # symbols assigned in all searches together
EARLY = 256  # solutions tried in the midst of a search, each time
SHOWN = 4


@dataclass(frozen=True)
class Relabellings:
    """How many relabellings keep every S_y of the sample, the identity included."""

    count: int
    proved: bool  # False: not refuted by the solutions that were tried, or not finished
    finished: bool  # False: there may be more than ``count``
    examples: tuple[str, ...]  # some that generate the others
    groups: tuple[str, ...]  # the alphabets within which symbols may change places
    answers: int
    solutions: int

    @property
    def identifies(self) -> bool:
        """Whether only the identity is left."""
        return self.count == 1 and self.finished


def relabellings(task: Task, sample: Sample, limit: Limit, nodes: int = NODES) -> Relabellings:
    """Search for them."""
    return _Search(task, sample, limit, nodes).run()


class _Search:
    def __init__(self, task: Task, sample: Sample, limit: Limit, nodes: int) -> None:
        self.task, self.sample, self.limit, self.nodes = task, sample, limit, nodes
        self.space: Categorical = task.space
        self.elements = Elements(self.space)
        self.single, self.pair = colours(task, self.elements, sample)
        self.finished = True
        self.generators: list[list[int]] = []
        # A symbol's position is its depth in the search; a solution can be tried at the depth of its last symbol.
        self.tries = [self._by_depth(found) for found in sample.found]

    def _by_depth(self, found: Found) -> dict[int, Tensor]:
        depth = self.elements.of(found.z).amax(-1)
        return {int(d): found.z[depth == d][:EARLY] for d in sorted(set(depth.tolist()))}

    def run(self) -> Relabellings:
        count = 1
        for base in reversed(range(self.elements.count)):
            orbit = self._orbit(base)
            for image in range(base + 1, self.elements.count):
                if image not in orbit and self._alike(base, image):
                    found = self._find(base, image)
                    if found is not None:
                        self.generators.append(found)
                        orbit = self._orbit(base)
            count *= len(orbit)
        return Relabellings(
            # What was refuted is refuted for good; what was kept is proved only where all solutions were tried.
            count,
            self.finished and (count == 1 or all(f.whole for f in self.sample.found)),
            self.finished,
            tuple(self.elements.cycles(g) for g in self.generators[-SHOWN:][::-1]),
            self.elements.groups(),
            len(self.sample.found),
            sum(len(f.z) for f in self.sample.found),
        )

    def _orbit(self, base: int) -> set[int]:
        """Images of ``base`` under the relabellings found so far, all of which fix the symbols before it."""
        orbit, grown = {base}, [base]
        while grown:
            point = grown.pop()
            for generator in self.generators:
                image = generator[point]
                if image not in orbit:
                    orbit.add(image)
                    grown.append(image)
        return orbit

    def _alike(self, a: int, b: int) -> bool:
        return bool(self.elements.kind[a] == self.elements.kind[b] and self.single[a] == self.single[b])

    def _find(self, base: int, image: int) -> list[int] | None:
        """A relabelling that fixes all before ``base`` and takes it to ``image``."""
        fixed = list(range(base))
        return self._extend([*fixed, image]) if self._fits(fixed, image) else None

    def _extend(self, images: list[int]) -> list[int] | None:
        """Assign the next symbol, in every way that fits, until all are."""
        depth = len(images)
        self.nodes -= 1
        if self.nodes < 0 or not self.limit.left():
            self.finished = False
            return None
        if not self._feasible(images):
            return None
        if depth == self.elements.count:
            return images if self._keeps(images) else None
        # Its own place first, or that of the symbol that took it: exchanges of two symbols are found at once.
        taken = images.index(depth) if depth in images else depth
        for image in sorted(range(self.elements.count), key=lambda e: (e != taken, e)):
            if image not in images and self._alike(depth, image) and self._fits(images, image):
                whole = self._extend([*images, image])
                if whole is not None:
                    return whole
                if not self.finished:
                    return None
        return None

    def _fits(self, images: list[int], image: int) -> bool:
        """Whether the pair counts with all symbols assigned before agree."""
        if self.pair is None:
            return True
        depth = len(images)
        mine, theirs = self.pair[depth, :depth], self.pair[image, images]
        return bool((mine == theirs).all()) and bool(self.pair[depth, depth] == self.pair[image, image])

    def _feasible(self, images: list[int]) -> bool:
        """Try the solutions whose last symbol was assigned just now."""
        depth = len(images) - 1
        whole = torch.tensor([*images, *[0] * (self.elements.count - len(images))])
        for found, tries in zip(self.sample.found, self.tries, strict=True):
            if depth in tries and not self._stays(found, tries[depth], whole):
                return False
        return True

    def _keeps(self, images: list[int]) -> bool:
        """Try all solutions."""
        whole = torch.tensor(images)
        return all(self._stays(found, found.z, whole) for found in self.sample.found)

    def _stays(self, found: Found, z: Tensor, images: Tensor) -> bool:
        y = found.y.expand(len(z), *found.y.shape[1:])
        return bool(self.task.feasible(self.elements.relabelled(z, images), y).all())
