"""log w(z) by state index: joint scores of runs of neighbouring sites, so that a state takes one look-up per run."""

from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import add

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ..spaces.categorical import CategoricalBelief

# Largest table of partial scores per example when log P is looked up by state index. 2,048 float32 numbers
# stay in a CPU's first-level cache; the exact figure changes nothing but speed.
BLOCK_LIMIT = 2048


@dataclass(frozen=True, eq=False)
class Block:
    """Joint scores ``[batch, m]`` of the neighbouring ``sites``; its code in a state is ``index // stride % m``."""

    scores: Tensor
    stride: int
    sites: range

    def codes(self, index: Tensor) -> Tensor:
        """The block's codes in states, with no more work on them than it takes."""
        higher = index // self.stride if self.stride > 1 else index
        return higher % self.scores.shape[1] if self.sites.start else higher

    def position(self, owner: Tensor, index: Tensor) -> Tensor:
        """Where example ``owner``'s state ``index`` is found in the flattened scores."""
        return owner * self.scores.shape[1] + self.codes(index)


def blocks_of(belief: CategoricalBelief) -> list[Block]:
    """The runs of sites, the last one first.

    For length-7 formulas two look-ups (of 324 and 1,296 entries) replace seven.
    """
    sizes, blocks = belief.space.sizes, []
    stride, stop = 1, len(sizes)
    while stop > 0:
        start, joint = stop - 1, belief.scores[:, stop - 1, : sizes[stop - 1]]
        while start > 0 and sizes[start - 1] * joint.shape[1] <= BLOCK_LIMIT:
            start -= 1
            joint = (belief.scores[:, start, : sizes[start], None] + joint[:, None, :]).flatten(1)
        blocks.append(Block(joint, stride, range(start, stop)))
        stride, stop = stride * joint.shape[1], start
    return blocks


def log_weights(blocks: list[Block], places: list[Tensor]) -> Tensor:
    """log w(z) of every solution, one look-up per block, at positions or, ``[batch, solutions]``, by codes."""
    found = (
        block.scores.gather(1, place) if place.dim() > 1 else block.scores.flatten()[place]
        for block, place in zip(blocks, places, strict=True)
    )
    return reduce(add, found)


def site_marginals(belief: CategoricalBelief, blocks: list[Block], places: list[Tensor], law: Tensor) -> Tensor:
    """Marginals ``[batch, sites, K]``: weights added up per block, then summed down to its sites by one product."""
    width, parts = belief.scores.shape[2], []
    for block, place in zip(blocks, places, strict=True):
        if law.dim() > 1:
            joint = law.new_zeros(block.scores.shape).scatter_add(1, place, law)
        else:
            joint = law.new_zeros(block.scores.numel()).index_add(0, place, law).view_as(block.scores)
        own = tuple(belief.space.sizes[site] for site in block.sites)
        parts.append((joint @ _ways(own, width, law.dtype, law.device)).view(len(joint), len(own), width))
    return torch.cat(parts[::-1], 1)


@lru_cache(maxsize=64)
def _ways(sizes: tuple[int, ...], width: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Which symbols the codes of a run of sites stand for, ``[codes, sites · K]`` of 0 and 1."""
    symbols = torch.cartesian_prod(*map(torch.arange, sizes)).view(-1, len(sizes))
    return one_hot(symbols, width).flatten(1).to(device, dtype)
