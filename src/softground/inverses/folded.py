"""A table of the whole space, folded for one set of dropped sites: a fibre is then one of its rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..spaces.categorical import Categorical
from .base import candidates


@dataclass(frozen=True, eq=False)
class Folded:
    """The table for one drop set: one row per u, one column per completion."""

    answer: Tensor  # [kept states, options]
    strides: Tensor  # [n] mixed-radix weight of each kept site in the row's number, 0 for dropped ones
    values: Tensor  # [1, options, dropped] the completions

    @classmethod
    def of(cls, answer: Tensor, space: Categorical, dropped: tuple[int, ...]) -> Folded:
        """The table ``answer[states]`` with the dropped sites last."""
        sizes, sites, device = space.sizes, range(space.sites), answer.device
        kept = [site for site in sites if site not in dropped]
        options = math.prod(sizes[site] for site in dropped)
        strides = [math.prod(sizes[k] for k in kept if k > site) if site in kept else 0 for site in sites]
        values, _ = candidates(space.layout(device).sizes, torch.tensor([dropped], device=device), options)
        rows = answer.view(sizes).permute(*kept, *dropped).reshape(-1, options)
        return cls(rows, torch.tensor(strides, device=device), values)
