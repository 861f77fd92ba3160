"""What settles the symbols at least cost: the fewest labels, or further answers, that leave one map.

A label fixes a symbol's image to itself. A set of labelled symbols leaves the identity alone exactly if it meets, for
every other map that fits, the symbols which that map moves: the smallest are minimum hitting sets. Maps are found as
they are needed: a candidate set that meets all maps found so far is tried, and either leaves one map or brings another
to be met (implicit hitting sets: R. M. Karp, Oper. Res. Lett. 2013, with others).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import torch
from torch import Tensor

from .propagation import Rows
from .search import Search

MOST_MAPS = 2_000  # that further answers are chosen by


@dataclass(frozen=True)
class Labels:
    """The smallest sets of symbols whose labels leave one map."""

    fewest: int
    sets: int  # how many there are of this size
    example: tuple[str, ...]
    finished: bool = True  # False: there are at least so many sets


def fewest_labels(search: Search, symbols: Sequence[int], names: Sequence[str]) -> Labels | None:
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


def further_rows(search: Search, rows: Rows, count: int) -> list[int] | None:
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
            return None  # whatever the answers, they fit
        chosen.append(int(refuted.argmax()))
        left &= fits[:, chosen[-1]]
    return chosen
