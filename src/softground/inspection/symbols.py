"""The symbols that a map or a renaming may take to each other, by number and by name."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..spaces.categorical import Categorical


class RenamableSymbols:
    """The symbols of a space, numbered; a map or renaming is a list of their images.

    They are the symbols of a shared head, or of each site if each has a head of its own. With ``per_site``, each site
    has its own symbols even if the head is shared.
    """

    def __init__(self, space: Categorical, per_site: bool = False) -> None:
        layout, shared = space.layout(torch.device("cpu")), space.head == "shared" and not per_site
        own = torch.arange(space.width) + (layout.sizes.cumsum(0) - layout.sizes)[:, None]
        number = layout.columns[:, : space.width] if shared else own
        self.number = number.masked_fill(~layout.allowed, -1)  # [sites, K]
        self.count = int(self.number.max()) + 1
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
        """Groups of symbols that stand in the alphabets of the same sites."""
        kinds: dict[tuple[bool, ...], list[int]] = {}
        for e in range(self.count):
            kinds.setdefault(tuple(self.where[:, e].tolist()), []).append(e)
        return list(kinds.values())

    def listed(self, members: Sequence[int]) -> str:
        """The names of some symbols, in the order of the alphabets."""
        names = [self.names[e] for e in sorted(members)]
        return " ".join(names) if len(names) <= 16 else f"{names[0]} … {names[-1]}"

    def cycles(self, images: Sequence[int]) -> str:
        """A renaming in the usual notation: ``0 ↔ 1, 2 → 3 → 4 → 2``."""
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
    """A symbol as text; an invisible one by its repr.

    >>> shown(3), shown("")
    ('3', "''")
    """
    return str(symbol) if str(symbol).strip() else repr(symbol)


def _look_up(table: Tensor, z: Tensor) -> Tensor:
    return table.expand(len(z), -1, -1).gather(2, z[..., None]).squeeze(2)
