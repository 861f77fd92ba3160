"""First states for formulas that are too long to tabulate, from their values alone.

A chain needs a feasible z to begin with, and random symbols hardly ever give a value such as 5133/40. So: draw the
first L − 8 symbols at random, let + follow, and look the rest y − P, P being the prefix's value, up among the values of
all length-7 formulas. No label is looked at. Where no draw succeeds the formula gets no chain.
"""

from __future__ import annotations

import torch
from torch import Tensor

from softground.constraints import Program
from softground.inverses import Enumeration, Start
from softground.tasks.formulas import formula_program
from softground.tasks.formulas.rule import value

SUFFIX = 7
WIDE = 1024  # above any denominator of a length-7 formula, 9 · 9 · 9


class Suffixes:
    """All formulas of a length by their value."""

    def __init__(self, length: int) -> None:
        space = formula_program(length).space
        self.states = space.states(torch.arange(space.size))
        top, bottom = value(*space.arguments(self.states))
        self.keys, self.order = torch.sort(top * WIDE + bottom, stable=True)

    def find(self, top: Tensor, bottom: Tensor) -> tuple[Tensor, Tensor]:
        """Where the formulas of value ``top / bottom`` (lowest terms) begin and end in ``order``; empty if none."""
        key = torch.where(bottom < WIDE, top * WIDE + bottom, -(2**62))
        return torch.searchsorted(self.keys, key), torch.searchsorted(self.keys, key, right=True)


class LongFormulas(Enumeration):
    """Enumeration with starts by prefix and suffix (see above); ``draws`` prefixes are tried per formula."""

    def __init__(self, program: Program, draws: int = 4096) -> None:
        super().__init__(program.space, program)
        self.suffixes = Suffixes(min(SUFFIX, program.space.sites))
        self.draws = draws

    def start(self, y: Tensor, seed: int) -> Start:
        generator = torch.Generator().manual_seed(seed)
        length = self.space.sites
        prefix = max(0, length - SUFFIX - 1)
        rows = [self.constraint.answer(one) for one in y.cpu()]
        z = torch.zeros(len(rows), length, dtype=torch.long)
        found = torch.zeros(len(rows), dtype=torch.bool)
        # + − × for half of the draws: then P is a whole number, and y − P has y's own denominator.
        head = torch.tensor(self.space.sizes[:prefix], dtype=torch.long).repeat(self.draws, 1)
        head[: self.draws // 2, 1::2] = 3
        for row, answer in enumerate(rows):
            if max(abs(answer.numerator), answer.denominator) >= 2**31:
                continue  # differences might not fit into 64 bits
            drawn = (torch.rand(head.shape, generator=generator) * head).long()
            top, bottom = self._rest(answer.numerator, answer.denominator, drawn)
            first, last = self.suffixes.find(top, bottom)
            hits = (last > first).nonzero().flatten()
            if len(hits):
                hit = hits[int(torch.randint(len(hits), (1,), generator=generator))]
                place = int(torch.randint(int(first[hit]), int(last[hit]), (1,), generator=generator))
                plus = torch.zeros(min(1, prefix), dtype=torch.long)
                z[row] = torch.cat([drawn[hit], plus, self.suffixes.states[self.suffixes.order[place]]])
                found[row] = True
        return Start(z.to(y.device), found.to(y.device), torch.zeros_like(found).to(y.device))

    def _rest(self, top: int, bottom: int, drawn: Tensor) -> tuple[Tensor, Tensor]:
        """y − P in lowest terms for prefixes ``drawn``; 1/0 where it would not fit into 64 bits."""
        if not drawn.shape[1]:
            return torch.tensor([top]), torch.tensor([bottom])
        space = formula_program(drawn.shape[1]).space
        p, q = value(*space.arguments(drawn))
        safe = (p.abs() < 2**31) & (q < 2**31)
        p, q = torch.where(safe, p, 0), torch.where(safe, q, 1)
        above, below = top * q - p * bottom, bottom * q
        shared = torch.gcd(above, below)
        return torch.where(safe, above // shared, 1), torch.where(safe, below // shared, WIDE)
