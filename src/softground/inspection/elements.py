"""The symbols that a relabelling may rename: one for all sites of a shared head, one a site where each has its own."""

from __future__ import annotations

import torch
from torch import Tensor

from ..spaces.categorical import Categorical


class Elements:
    """The renamable symbols of a space, numbered; a relabelling is a list of their images.

    A symbol may take the place only of one that stands in the alphabets of the same sites, its *kind*: then every
    relabelled state is a state again.

    >>> elements = Elements(Categorical([(1, 2, 3), "+-", (1, 2, 3)]))
    >>> elements.groups()
    ('1 2 3', '+ -')
    >>> elements.cycles([1, 0, 2, 4, 3])
    '1 ↔ 2, + ↔ -'
    """

    def __init__(self, space: Categorical) -> None:
        self.space = space
        layout = space.layout(torch.device("cpu"))
        shared = space.head == "shared"
        offset = torch.zeros(space.sites, dtype=torch.long) if shared else layout.sizes.cumsum(0) - layout.sizes
        self.number = (layout.columns + offset[:, None]).masked_fill(~layout.allowed, -1)  # [sites, K]
        self.count = int(self.number.max()) + 1
        self.code = torch.zeros(space.sites, self.count, dtype=torch.long)
        where = torch.zeros(space.sites, self.count, dtype=torch.bool)
        for site in range(space.sites):
            row = self.number[site, : space.sizes[site]]
            self.code[site, row] = torch.arange(len(row))
            where[site, row] = True
        self.kind: list[tuple[bool, ...]] = [tuple(column) for column in where.T.tolist()]
        names = {
            int(self.number[i, c]): str(s) if shared else f"{s} at site {i}"
            for i, a in enumerate(space.alphabets)
            for c, s in enumerate(a)
        }
        self.names = [names[e] for e in range(self.count)]

    def of(self, z: Tensor) -> Tensor:
        """Codes ``[N, sites]`` as numbers of symbols."""
        return self.number.expand(len(z), -1, -1).gather(2, z[..., None]).squeeze(2)

    def relabelled(self, z: Tensor, images: Tensor) -> Tensor:
        """States with every symbol renamed."""
        new = images[self.of(z)]
        return self.code.expand(len(z), -1, -1).gather(2, new[..., None]).squeeze(2)

    def groups(self) -> tuple[str, ...]:
        """The kinds with more than one symbol, as lists of symbols."""
        kinds = dict.fromkeys(self.kind)
        members = [[n for n, k in zip(self.names, self.kind, strict=True) if k == kind] for kind in kinds]
        return tuple(" ".join(m) if len(m) <= 16 else f"{m[0]} … {m[-1]}" for m in members if len(m) > 1)

    def cycles(self, images: list[int]) -> str:
        """A relabelling as people write it."""
        seen: set[int] = set()
        shown = []
        for first in range(self.count):
            cycle = [first]
            while images[cycle[-1]] != first:
                cycle.append(images[cycle[-1]])
            if first not in seen and len(cycle) > 1:
                names = [self.names[e] for e in cycle]
                shown.append(" ↔ ".join(names) if len(cycle) == 2 else " → ".join([*names, names[0]]))
            seen.update(cycle)
        return ", ".join(shown)
