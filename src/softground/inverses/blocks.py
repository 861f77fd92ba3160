"""log w(z) by state index: joint scores of runs of neighbouring sites, so that a state takes one look-up per run."""

from dataclasses import dataclass

import torch
from torch import Tensor

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

    def position(self, owner: Tensor, index: Tensor) -> Tensor:
        """Where example ``owner``'s state ``index`` is found in the flattened scores."""
        m = self.scores.shape[1]
        return owner * m + index // self.stride % m

    def site_marginals(self, joint: Tensor, sizes: tuple[int, ...]) -> list[Tensor]:
        """Sum a joint weight ``[batch, m]`` down to one ``[batch, size]`` per site."""
        shape = [sizes[i] for i in self.sites]
        grid = joint.view(len(joint), *shape)
        axes = range(1, len(shape) + 1)
        return [grid.sum([a for a in axes if a != axis]) if len(shape) > 1 else grid for axis in axes]


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
    """log w(z) of every solution, one look-up per block."""
    total = blocks[0].scores.flatten()[places[0]]
    for block, place in zip(blocks[1:], places[1:], strict=True):
        total = total + block.scores.flatten()[place]
    return total


def site_marginals(belief: CategoricalBelief, blocks: list[Block], places: list[Tensor], law: Tensor) -> Tensor:
    """Marginals ``[batch, sites, K]``: weights added up per block, then summed down to its sites."""
    marginals = torch.zeros_like(belief.scores)
    for block, place in zip(blocks, places, strict=True):
        joint = torch.zeros(block.scores.numel(), dtype=law.dtype, device=law.device).index_add(0, place, law)
        parts = block.site_marginals(joint.view_as(block.scores), belief.space.sizes)
        for site, one in zip(block.sites, parts, strict=True):
            marginals[:, site, : one.shape[1]] = one
    return marginals
