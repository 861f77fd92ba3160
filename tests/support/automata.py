"""Random finite automata, and what brute force says of them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from softground.constraints import Scan
from softground.spaces import Categorical, CategoricalBelief


@dataclass(frozen=True)
class Automaton:
    """A random scan with its tables: next state (−1 refuses) per site, cue, state and symbol; acceptance per answer."""

    scan: Scan
    table: list[list[list[list[int]]]]
    accepts: list[list[bool]]
    cues: list[list[int]]

    @property
    def space(self) -> Categorical:
        return self.scan.space

    @property
    def everything(self) -> Tensor:
        return self.space.states(torch.arange(self.space.size))

    def accepted(self, z: list[int], answer: int) -> bool:
        """Read z by hand."""
        state = 0
        for site in self.scan.order:
            state = self.table[site][self.cues[answer][site]][state][z[site]]
            if state < 0:
                return False
        return self.accepts[answer][state]

    def solutions(self, answer: int) -> Tensor:
        """S_y by trying every state of the space."""
        keep = [self.accepted(z, answer) for z in self.everything.tolist()]
        return self.everything[torch.tensor(keep)]

    def belief(self, batch: int, seed: int = 0) -> CategoricalBelief:
        """A lopsided belief, another for every example."""
        generator = torch.Generator().manual_seed(seed)
        shape = (batch, self.space.sites, self.space.outputs)
        return self.space.belief(1.5 * torch.randn(shape, generator=generator, dtype=torch.float64))


def random_automaton(
    seed: int, sites: int = 4, states: int = 3, symbols: int = 3, cued: bool = False, vectorised: bool = False
) -> Automaton:
    """Sites of different alphabets, a random reading order, some refused symbols, three answers."""
    generator = torch.Generator().manual_seed(seed)

    def draw(low: int, high: int, *shape: int) -> Tensor:
        return torch.randint(low, high, shape, generator=generator)

    sizes = [int(draw(2, symbols + 1)) for _ in range(sites)]
    table = [draw(-1, states, 2, states, size) for size in sizes]
    accepts = draw(0, 2, 3, states).bool().tolist()
    cues = draw(0, 2, 3, sites).tolist() if cued else [[0] * sites] * 3
    order = torch.randperm(sites, generator=generator).tolist()

    def plain(state: int, symbol: int, site: int, cue: int = 0) -> int | None:
        after = int(table[site][cue, state, symbol])
        return None if after < 0 else after

    def tensors(state: Tensor, symbol: Tensor, site: int, cue: Tensor | None = None) -> Tensor:
        return table[site][torch.zeros_like(state) if cue is None else cue, state, symbol]

    with_cue = tensors if vectorised else plain
    without = lambda s, k, i: with_cue(s, k, i)  # noqa: E731
    scan = Scan(
        with_cue if cued else without,
        Categorical([range(size) for size in sizes], head="site"),
        order=order,
        accept=lambda state, answer: accepts[answer][state],
        vectorised=vectorised,
        cue=(lambda answer, site: cues[answer][site]) if cued else None,
    )
    scan.encode([0, 1, 2])
    return Automaton(scan, [t.tolist() for t in table], accepts, cues)
