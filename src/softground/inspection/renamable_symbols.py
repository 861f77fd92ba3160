"""The symbols that a relabelling may rename: those of a shared head, or of each site where each has its own head."""

from __future__ import annotations

import torch
from torch import Tensor

from ..spaces.categorical import Categorical


class RenamableSymbols:
    """The renamable symbols of a space, numbered; a relabelling is a list of their images.

    A symbol may take the place only of one that stands in the alphabets of the same sites, its *kind*: then every
    relabelled state is a state again. Given ``solutions``, symbols are numbered so that many solutions are made of the
    first few.

    >>> symbols = RenamableSymbols(Categorical([(1, 2, 3), "+-", (1, 2, 3)]))
    >>> symbols.groups()
    ('1 2 3', '+ -')
    >>> symbols.cycles([[0, 1], [3, 4]])
    '1 ↔ 2, + ↔ -'
    """

    def __init__(self, space: Categorical, solutions: Tensor | None = None) -> None:
        self.space = space
        layout = space.layout(torch.device("cpu"))
        shared = space.head == "shared"
        offset = torch.zeros(space.sites, dtype=torch.long) if shared else layout.sizes.cumsum(0) - layout.sizes
        number = (layout.columns + offset[:, None]).masked_fill(~layout.allowed, -1)  # [sites, K]
        self.count = int(number.max()) + 1
        self.order = list(range(self.count)) if solutions is None else _early(number, solutions, self.count)
        place = torch.tensor(self.order).argsort()
        self.number = torch.where(number < 0, number, place[number])
        self.code = torch.zeros(space.sites, self.count, dtype=torch.long)
        self.where = torch.zeros(space.sites, self.count, dtype=torch.bool)
        self.names = [""] * self.count
        for site, alphabet in enumerate(space.alphabets):
            row = self.number[site, : len(alphabet)]
            self.code[site, row] = torch.arange(len(alphabet))
            self.where[site, row] = True
            for symbol, of in zip(alphabet, row.tolist(), strict=True):
                self.names[of] = shown(symbol) if shared else f"{shown(symbol)} at site {site}"
        self.kind: list[tuple[bool, ...]] = [tuple(column) for column in self.where.T.tolist()]

    def of(self, z: Tensor) -> Tensor:
        """Codes ``[N, sites]`` as numbers of symbols."""
        return _look_up(self.number, z)

    def relabelled(self, z: Tensor, images: Tensor) -> Tensor:
        """States with every symbol renamed."""
        return _look_up(self.code, images[self.of(z)])

    def groups(self) -> tuple[str, ...]:
        """The kinds with more than one symbol, as lists of symbols."""
        natural = sorted(range(self.count), key=self.order.__getitem__)
        members = [
            [e for e in natural if self.kind[e] == kind] for kind in dict.fromkeys(self.kind[e] for e in natural)
        ]
        return tuple(self.listed(m) for m in members if len(m) > 1)

    def listed(self, members: list[int]) -> str:
        """Some symbols, in the order of the alphabets."""
        names = [self.names[e] for e in sorted(members, key=self.order.__getitem__)]
        return " ".join(names) if len(names) <= 16 else f"{names[0]} … {names[-1]}"

    def cycles(self, cycles: list[list[int]]) -> str:
        """A relabelling as people write it."""
        named = [[self.names[e] for e in cycle] for cycle in cycles]
        return ", ".join(" ↔ ".join(c) if len(c) == 2 else " → ".join([*c, c[0]]) for c in named)


def shown(symbol: object) -> str:
    """A symbol as text; one that would be invisible, by its repr.

    >>> shown(7), shown("")
    ('7', "''")
    """
    text = str(symbol)
    return text if text.strip() else repr(symbol)


def _look_up(table: Tensor, z: Tensor) -> Tensor:
    return table.expand(len(z), -1, -1).gather(2, z[..., None]).squeeze(2)


def _early(number: Tensor, solutions: Tensor, count: int) -> list[int]:
    """All symbols, those first that complete a solution with as few new symbols as possible."""
    of, order = _look_up(number, solutions), list[int]()
    known = torch.zeros(count, dtype=torch.bool)
    while len(order) < count:
        new = (~known)[of].sum(-1)
        rest = new.masked_fill(new == 0, number.shape[0] + 1)
        chosen = of[rest.argmin()] if bool(new.any()) else torch.arange(count)
        order += [e for e in dict.fromkeys(chosen.tolist()) if not known[e]]
        known[chosen] = True
    return order
