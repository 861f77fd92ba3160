"""Moves on Ω for symbols. All are symmetric: the same site or pair leads back."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..dice import Dice, any_of
from ..errors import ProjectionError
from ..spaces.categorical import Categorical
from .base import Move


class ChangeOne(Move):
    """Change one kept component: the site uniform among the kept, the symbol uniform among the others of its alphabet.

    Both ways have probability 1 / (kept sites) · 1 / (alphabet size − 1). Sites with a single symbol cannot change and
    are never chosen.
    """

    def __init__(self, space: Categorical) -> None:
        if max(space.sizes) == 1:
            raise ProjectionError("No site of this space has more than one symbol: there is nothing to change.")
        self.space = space

    def propose(self, dice: Dice, z: Tensor, kept: Tensor) -> Tensor:
        layout = self.space.layout(z.device)
        movable = kept & (layout.sizes > 1)
        # A row whose kept sites are all fixed proposes to stay, by 'changing' any site to itself.
        stuck = ~movable.any(-1, keepdim=True)
        site = any_of(dice, movable | stuck)[:, None]
        same = torch.arange(self.space.width, device=z.device) == z.gather(1, site)
        symbol = any_of(dice, torch.where(stuck, same, layout.allowed[site.squeeze(1)] & ~same))
        return z.scatter(1, site, symbol[:, None])


class SwapInside(Move):
    """Switch the symbols of two sites of one kept block: the paper's walk for Sudoku, whose blocks are sub-boards.

    The pair is uniform among all pairs of sites that share a block and are both kept; which pairs exist does not depend
    on the state. Where no pair is kept, the move proposes to stay.

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
        pair = self._pairs[any_of(dice, both | stuck)]
        return torch.where(stuck, z, z.scatter(1, pair, z.gather(1, pair.flip(1))))


class SwapSymbols(Move):
    """Switch two symbols at every kept site: the move of the paper's crude MCMC, which has no projection.

    The pair of symbols is uniform. All sites share one alphabet.
    """

    def __init__(self, space: Categorical) -> None:
        if len(set(space.alphabets)) != 1 or space.width < 2:
            raise ProjectionError("Swapping symbols needs one alphabet of two or more symbols, shared by all sites.")
        self._pairs = torch.combinations(torch.arange(space.width))

    def propose(self, dice: Dice, z: Tensor, kept: Tensor) -> Tensor:
        self._pairs = self._pairs.to(z.device)
        pair = self._pairs[dice.categorical(torch.zeros(len(z), len(self._pairs), device=z.device))]
        a, b = pair[:, :1], pair[:, 1:]
        return torch.where(kept, torch.where(z == a, b, torch.where(z == b, a, z)), z)


class Stay(Move):
    """Propose no change: what is left of a kernel is a Gibbs step on the dropped sites."""

    def propose(self, dice: Dice, z: Tensor, kept: Tensor) -> Tensor:
        return z
