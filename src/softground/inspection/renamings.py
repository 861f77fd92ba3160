r"""Which renamings of symbols keep every S_y of the sample: whether y can identify the symbols.

A renaming π exchanges symbols, in the same way at every site of a group of sites that share an alphabet. If
π(S_y) = S_y for all y, a network that reads π(z) explains every answer as well as one that reads z: y cannot tell them
apart, and training may end with either. The symbols are then known only up to π, a *reasoning shortcut*.

Such a renaming is a one-to-one map of symbols that fits all combinations in S_y, so the search for maps finds it.
Renamings form a group: for each symbol b and each possible image t one map is searched that fixes all symbols before b
and takes b to t, and those found generate all others (Schreier and Sims). A symbol may be renamed to one that stands in
the alphabets of the same sites, and equally often at each site of every S_y (by the marginals of the uniform law).

If S_y is not listed, drawn solutions are tried, and what is left is 'not refuted by N solutions'. All of S_y is meant
here: the combinations that occur in the data may be fewer, and refute fewer renamings. A shortcut may also merge
symbols; those are counted among the maps.

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
from ..task import Task
from ..walks.solutions import Found, Sample
from ..walks.time_limit import TimeLimit
from .map_search import WORK, ImageSearch, Symmetry, members
from .support import Support, SymbolRows
from .symbols import RenamableSymbols

SHOWN = 4  # examples
ROUNDING = 1e-9  # shares of S_y that differ by less are equal
MOST_PAIRS = 500_000


@dataclass(frozen=True)
class Relabellings:
    """How many renamings keep every S_y of the sample, the identity included."""

    count: int
    proved: bool  # False: not refuted by the solutions that were tried, or not finished
    finished: bool  # False: there may be more than ``count``
    examples: tuple[str, ...]  # some that generate the others
    groups: tuple[str, ...]  # the alphabets within which symbols may change places
    confused: tuple[str, ...]  # symbols that some renaming takes to each other: y cannot tell them apart
    nameless: bool  # whether every symbol can be renamed
    answers: int
    solutions: int
    generators: tuple[tuple[int, ...], ...] = ()  # images of the symbols

    @property
    def identifies(self) -> bool:
        """Whether only the identity is left."""
        return self.count == 1 and self.finished


def relabellings(task: Task, sample: Sample, limit: TimeLimit, work: int = WORK) -> Relabellings:
    """Search for all renamings that keep every S_y; each of its searches tries at most ``work`` images."""
    symbols, found = RenamableSymbols(task.space), sample.found
    tried = Support(torch.cat([f.z for f in found]), torch.cat([f.answers(len(f.z)) for f in found]), "")
    rows = SymbolRows(task, tried, symbols)
    search = ImageSearch(_alike(symbols, sample), rows, limit, injective=True, work=work)
    group, finished, possible = Symmetry(), search.finished, search.root.domains
    for base in reversed(range(symbols.count)):
        for image in members(possible[base]):
            if image > base and image not in group.orbit(base):
                images = next(search.maps({e: e for e in range(base)} | {base: image}), None)
                group = group if images is None else Symmetry([*group.generators, images])
                finished = finished and (images is not None or search.finished)
    orbits = [orbit for orbit in group.orbits() if len(orbit) > 1]
    return Relabellings(
        # What was refuted is refuted for good; what was kept is proved if all solutions were tried, or by the scan.
        count=group.order,
        proved=finished and all(_proved(task, symbols, f, g) for f in found for g in group.generators),
        finished=finished,
        examples=tuple(symbols.cycles(g) for g in group.generators[::-1][:SHOWN]),
        groups=tuple(symbols.listed(kind) for kind in symbols.kinds() if len(kind) > 1),
        confused=tuple(symbols.listed(orbit) for orbit in sorted(orbits)),
        nameless=sum(map(len, orbits)) == symbols.count,
        answers=len(found),
        solutions=len(tried),
        generators=tuple(map(tuple, group.generators)),
    )


def _alike(symbols: RenamableSymbols, sample: Sample) -> list[int]:
    """For each symbol those that stand at the same sites, and equally often, as bits."""
    known = [
        torch.where(symbols.where, f.shares.gather(1, symbols.code), 0.0) for f in sample.found if f.shares is not None
    ]
    standing = torch.cat([symbols.where.double(), *known]).T.contiguous()
    alike = torch.cdist(standing, standing, p=torch.inf) <= ROUNDING
    return [sum(1 << e for e in row.nonzero().flatten().tolist()) for row in alike]


def _proved(task: Task, symbols: RenamableSymbols, found: Found, images: Sequence[int]) -> bool:
    """Whether a renaming that was not refuted surely keeps an answer's S_y."""
    scan = task.constraint
    if found.whole or not isinstance(scan, Scan):
        return found.whole
    codes = torch.arange(task.space.width)[:, None].expand(-1, task.space.sites)
    return keeps(scan, symbols.relabelled(codes, torch.tensor(images)).T, found.y)


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
