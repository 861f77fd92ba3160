r"""Independent draws from Q* itself, by listing S_y. Exact, and no chain is needed.

.. math:: Q^*(z) = w(z) \Big/ \sum_{z' \in S_y} w(z'), \qquad w(z) = P(z|x)^{1/\gamma} .

Where the space is tabulated this costs a look-up or two per solution. The site-wise marginals Q*_i(s) come from the
same weights: with them the loss −Σ_i Σ_s Q*_i(s) log P_i(s|x) has the exact gradient, at γ = 1 that of the semantic
loss (Proposition 2), with no sampling noise at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from ..dice import Dice
from ..inverses.base import SolvingInverse
from ..inverses.listing import Listing
from ..inverses.table import Table
from ..projections.walk import Walk
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from .base import KERNELS, ChainState, Info, Kernel, info, joined, start_at
from .default import default_kernel
from .laws import Law, Padded, Ragged, Shared

# Entries of a padded list beyond which the ragged one is used after all: 2²⁶ floats are 268 MB.
LARGEST = 2**26
# Entries of a padded list that cost less than the bookkeeping of a ragged one.
SMALL = 2**12
# Examples whose ragged lists are worked on together: those of length-7 formulas then stay in a CPU's cache.
ROWS = 512


@dataclass(frozen=True)
class Exact:
    """Target Q*; each step is an independent draw from it, whatever the chain's state.

    Parameters
    ----------
    inverse
        Lists S_y; a :class:`~softground.inverses.Table` does so without search.
    marginals
        Whether steps report Q*'s marginals (the default: they cost little and remove the sampling noise).
    padded
        Whether a table's lists are padded to one length; by default on a GPU, and where they are short. The law is the
        same.
    """

    inverse: SolvingInverse
    marginals: bool = True
    padded: bool | None = None

    def init(self, z: Tensor) -> ChainState:
        return start_at(z)

    def step(self, dice: Dice, state: ChainState, target: Target[CategoricalBelief]) -> tuple[ChainState, Info]:
        if len(target) > ROWS and not self.static(target):
            parts = [self._step(dice, ChainState(state.z[rows]), some) for rows, some in _parts(target)]
            return ChainState(torch.cat([after.z for after, _ in parts])), joined([step for _, step in parts])
        return self._step(dice, state, target)

    def _step(self, dice: Dice, state: ChainState, target: Target[CategoricalBelief]) -> tuple[ChainState, Info]:
        law = self.law(target)
        after = law.draw(dice)
        true = torch.ones(len(after), dtype=torch.bool, device=after.device)
        return ChainState(after), info(state.z, after, true, ~true, law.marginals() if self.marginals else None)

    def law(self, target: Target[CategoricalBelief]) -> Law:
        """Q* of a batch."""
        inverse, y = self.inverse, target.answers
        if isinstance(inverse, Listing) and self.padded is not False:
            return Shared(inverse.states(y.device), inverse.codes(y.device), target.weights)
        if isinstance(inverse, Table) and self._pads(inverse, y):
            return Padded(inverse.padded_solutions(y), target.weights)
        return Ragged(inverse.solutions(y), target.weights)

    def static(self, target: Target[CategoricalBelief]) -> bool:
        """Whether a step never asks for a value in the midst of its work: not with ragged lists."""
        inverse, y = self.inverse, target.answers
        return isinstance(inverse, Listing) or (isinstance(inverse, Table) and self._pads(inverse, y))

    def _pads(self, table: Table, y: Tensor) -> bool:
        size = len(y) * table.longest
        wanted = (y.is_cuda or size <= SMALL) if self.padded is None else self.padded
        return wanted and table.solvable and size <= LARGEST


def _parts(target: Target[CategoricalBelief]) -> Iterator[tuple[slice, Target[CategoricalBelief]]]:
    for first in range(0, len(target), ROWS):
        rows = slice(first, first + ROWS)
        weights = CategoricalBelief(target.weights.space, target.weights.scores[rows])
        yield rows, Target(weights, target.answers[rows], target.gamma)


@default_kernel.register
def _(inverse: Table, space: object) -> Kernel:
    return Exact(inverse)


@default_kernel.register
def _(inverse: Listing, space: object) -> Kernel:
    return Exact(inverse)


@KERNELS.register("exact")
def _by_name(walk: Walk, marginals: bool) -> Kernel:
    return Exact(walk.inverse, marginals)  # type: ignore[arg-type]
