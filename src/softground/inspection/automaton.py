"""Whether a renaming keeps S_y of a scan, however large S_y is.

A scan is an automaton. Reading z and its renamed copy side by side, it passes through pairs of states; every pair that
some z reaches is found layer by layer. The renaming f keeps S_y (f(S_y) ⊆ S_y, and so equal, as f is one-to-one)
exactly if at the end no pair's first state is accepted and its second is not.
"""

import torch
from torch import Tensor

from ..constraints import Scan

MOST_PAIRS = 500_000


def keeps(scan: Scan, images: Tensor, y: Tensor) -> bool:
    """Whether codes renamed by ``images[sites, K]`` stay in S_y for the encoded answer ``y[1]``; False if unknown."""
    tables = scan.tables(y.device)
    cues, accepts = tables.at(y)
    first = second = torch.zeros(1, dtype=torch.long)
    for place, layer in enumerate(tables.layers):
        step, site = layer[int(cues[0, place])], int(tables.order[place])
        codes = torch.arange(scan.space.sizes[site])
        first, second = step[first][:, codes].flatten(), step[second][:, images[site, codes]].flatten()
        width = int(max(first.max(), second.max())) + 1
        pairs = torch.unique(first * width + second)
        if len(pairs) > MOST_PAIRS:
            return False
        first, second = pairs // width, pairs % width
    return bool((accepts[0, second] | ~accepts[0, first]).all())
