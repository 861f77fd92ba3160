"""Moves that exchange symbols: two cells of a kept block, or two symbols everywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ..dice import Dice
from ..errors import ProjectionError
from ..spaces.categorical import Categorical
from .base import Move


class SwapInside(Move):
    """Switch the symbols of two sites of one kept block: the paper's walk for Sudoku, whose blocks are sub-boards.

    The pair is uniform among all pairs of sites that share a block and are both kept. Symmetric: the same pair leads
    back, and which pairs exist does not depend on the state. Where no pair is kept, the move proposes to stay.

    >>> space = Categorical([range(4)] * 4)
    >>> SwapInside(space, [[0, 1], [2, 3]])
    SwapInside(2 pairs)
    """

    def __init__(self, space: Categorical, blocks: Sequence[Sequence[int]]) -> None:
        pairs = [(a, b) for block in blocks for i, a in enumerate(block) for b in block[i + 1 :]]
        if not pairs or any(space.alphabets[a] != space.alphabets[b] for a, b in pairs):
            raise ProjectionError(
                f"Blocks {[list(b) for b in blocks]} were given; expected blocks of two or more sites, the sites of a "
                "block with the same alphabet."
            )
        self._pairs = torch.tensor(pairs)

    def __repr__(self) -> str:
        return f"SwapInside({len(self._pairs)} pairs)"

    def propose(self, dice: Dice, z: Tensor, kept: Tensor) -> Tensor:
        self._pairs = self._pairs.to(z.device)
        both = kept[:, self._pairs].all(-1)
        stuck = ~both.any(-1, keepdim=True)
        choice = dice.categorical(torch.zeros_like(both, dtype=torch.float32).masked_fill(~(both | stuck), -math.inf))
        pair = self._pairs[choice]
        swapped = z.scatter(1, pair, z.gather(1, pair.flip(1)))
        return torch.where(stuck, z, swapped)


class SwapSymbols(Move):
    """Switch two symbols at every site. The move of the paper's crude MCMC, which has no projection.

    The pair of symbols is uniform. Symmetric: the same pair leads back. All sites share one alphabet, and are kept.
    """

    def __init__(self, space: Categorical) -> None:
        if len(set(space.alphabets)) != 1 or space.width < 2:
            raise ProjectionError("Relabelling needs one alphabet of two or more symbols, shared by all sites.")
        self._pairs = torch.combinations(torch.arange(space.width))

    def propose(self, dice: Dice, z: Tensor, kept: Tensor) -> Tensor:
        self._pairs = self._pairs.to(z.device)
        pair = self._pairs[dice.categorical(torch.zeros(len(z), len(self._pairs), device=z.device))]
        a, b = pair[:, :1], pair[:, 1:]
        return torch.where(kept, torch.where(z == a, b, torch.where(z == b, a, z)), z)


class Stay(Move):
    """Propose no change: what is left of a kernel is a Gibbs step on the dropped sites. Symmetric, trivially."""

    def propose(self, dice: Dice, z: Tensor, kept: Tensor) -> Tensor:
        return z
