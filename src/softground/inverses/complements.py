r"""Complements of lists, as lists of cubes. Subtraction would not do: 1 − M may lose all digits.

In the prefix tree of the listed states, each minimal prefix without a listed state is a **cube**, with all endings. A
site that a cube leaves free has one more symbol, *any*, whose weight is the sum over the site's symbols. Cubes share no
state. The cube of the empty prefix is the whole space, the S_y of an unknown answer.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..constraints.answers import EVERYTHING, NOTHING
from ..spaces.categorical import Categorical
from .codes import runs, small
from .sets import Listed

CUBES_KEPT = 2**22

Stated = tuple[Tensor, bool]  # sorted indices of states, and whether S_y is these or all others


class Cubes:
    """S_y as cubes; ``stated`` gives the states of an answer ``y[1]``, except unknown ones."""

    def __init__(self, space: Categorical, stated: Callable[[Tensor], Stated] | None = None) -> None:
        self.space, self.stated = space, stated
        self._kept: dict[tuple[int, torch.device], Tensor] = {}

    def __call__(self, y: Tensor) -> Listed:
        codes, place = torch.unique(y, return_inverse=True)
        found = [self._cubes(codes[number, None], code) for number, code in enumerate(codes.tolist())]
        count = torch.tensor([len(own[0]) for own in found], dtype=torch.long, device=y.device)
        which = torch.stack([count.cumsum(0) - count, count], 1)[place]
        return Listed(which, torch.cat(found, 1), self.space.sizes, cubes=True)

    def _cubes(self, y: Tensor, code: int) -> Tensor:
        key = code, y.device
        if key not in self._kept:
            if code in (EVERYTHING, NOTHING):  # nothing is excluded, or holds
                index, inside = y[:0], code == NOTHING
            else:
                assert self.stated is not None
                index, inside = self.stated(y)
            own = cubes_of(index, inside, self.space)
            if sum(len(each[0]) for each in self._kept.values()) + len(own[0]) > CUBES_KEPT:
                self._kept.clear()
            self._kept[key] = own
        return self._kept[key]


def cubes_of(index: Tensor, inside: bool, space: Categorical) -> Tensor:
    """The cubes of states, or of their complement, by their codes in runs of sites: ``[runs, cubes]``, in order.

    >>> space = Categorical([range(2)] * 3)
    >>> cubes_of(space.index(torch.tensor([[0, 1, 0]])), False, space).tolist()  # 00*, 011, 1**, in base 3
    [[2, 4, 17]]
    """
    sizes, wider = space.sizes, tuple(size + 1 for size in space.sizes)
    codes, begins = list[Tensor](), list[Tensor]()
    known, stride = index.new_zeros(min(1, len(index))), 1 if inside else space.size

    def found(prefix: Tensor, depth: int) -> None:
        rest, own = prefix, list[Tensor]()
        for run in runs(wider):
            code, radix = torch.zeros_like(prefix), 1
            for site in reversed(run):
                symbol, rest = (rest % sizes[site], rest // sizes[site]) if site < depth else (sizes[site], rest)
                code, radix = code + symbol * radix, radix * wider[site]
            own.append(code.to(small(wider)))
        codes.append(torch.stack(own))
        begins.append(prefix * stride if depth else prefix)  # a huge space has no indices, but itself

    if inside:
        found(index, len(sizes))
    elif not len(index):
        found(index.new_zeros(1), 0)
    for depth, size in enumerate(() if inside or not len(index) else sizes, 1):
        stride //= size
        children = (known[:, None] * size + torch.arange(size, device=index.device)).flatten()
        known = torch.unique_consecutive(index // stride)
        found(children[~torch.isin(children, known)], depth)
    return torch.cat(codes, 1)[:, torch.cat(begins).argsort()]
