r"""Scans whose state is a running sum, :math:`s_{t+1} = s_t + v_t(z_t)`, without tables.

A sum of n values from 0 to V has nV + 1 totals, and its tables n times as many entries: of 1,024 digits, 47 million.
Here the next state is an addition, made when a layer is asked for; the same code reads such layers and tables.

A running sum is known by its step, ``operator.add``, or noticed in the tables of any other step.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property, reduce
from typing import Any

import torch
from torch import Tensor

from .tabulate import Tabulation

LARGE = 2**16  # sites × totals from which a tree of convolutions is quicker than going site by site
SPARSE = 4  # how many numbers from the least total to the largest there may be for each total that occurs


class Totals(Sequence[Tensor]):
    """The layers of a running sum: ``values[n, K]`` from 0 up, of which site t has the first ``sizes[t]``."""

    def __init__(self, values: Tensor, sizes: Sequence[int]) -> None:
        self.values, self.sizes = values, list(sizes)
        most = [max(row[:size]) for row, size in zip(values.tolist(), self.sizes, strict=True)]
        self.reach = [0, *itertools.accumulate(most)]  # the largest total before each site, and at the end

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[t] for t in range(*place.indices(len(self)))]
        place = range(len(self))[place]
        here = torch.arange(self.reach[place] + 1, device=self.values.device)
        after = here[:, None] + self.values[place, : self.sizes[place]]
        return torch.nn.functional.pad(after, (0, 0, 0, 1), value=self.reach[place + 1] + 1)[None]

    def to(self, device: torch.device) -> Totals:
        """The same on another device."""
        return self if self.values.device == device else Totals(self.values.to(device), self.sizes)

    @cached_property
    def occurs(self) -> Tensor:
        """Which totals occur at the end, and that dead does not: ``[totals + 1]``."""
        # The bits of a whole number say which totals occur; a value shifts them.
        rows = zip(self.values.tolist(), self.sizes, strict=True)
        bits = 1
        for row, size in rows:
            bits = reduce(operator.or_, [bits << value for value in set(row[:size])])
        found = [bit == "1" for bit in reversed(f"{bits:0{self.reach[-1] + 2}b}")]
        return torch.tensor(found, device=self.values.device)


def summed(step: Callable[..., Any], start: Hashable, alphabets: Sequence[Sequence[Any]]) -> Tabulation | None:
    """The layers of a long sum that is known by its step; None for any other scan."""
    whole = step is operator.add and all(type(value) is int for value in (start, *itertools.chain(*alphabets)))
    return _long(start, alphabets) if whole else None


def noticed(found: Tabulation) -> Tabulation:
    """The same scan without its tables, where these turn out to be a long running sum."""
    if any(type(state) is not int for states in found.states for state in states):
        return found
    values: list[list[int]] = []
    for layer, here, after in zip(found.layers, found.states, found.states[1:], strict=False):
        rows = layer[0, :-1]
        if len(layer) > 1 or not len(after) or int(rows.max()) >= len(after):  # it sees cues, or refuses symbols
            return found
        more = torch.tensor(after)[rows] - torch.tensor(here)[:, None]
        if bool((more != more[0]).any()):
            return found
        values.append(more[0].tolist())
    return _long(found.states[0][0], values) or found


def _long(start: Any, values: Sequence[Sequence[int]]) -> Tabulation | None:
    """The scan of these values, one row for each site, if it is long and its totals are close to each other."""
    least = [min(row) for row in values]
    totals = 1 + sum(map(max, values)) - sum(least)
    if len(values) * totals < LARGE or totals > SPARSE * (1 + sum(len(set(row)) - 1 for row in values)):
        return None
    return tabulated(
        [[value - low for value in row] for row, low in zip(values, least, strict=True)], start + sum(least)
    )


def tabulated(values: Sequence[Sequence[int]], least: int) -> Tabulation:
    """The layers of values from 0 up, whose sums are told apart from ``least`` on."""
    sizes = [len(row) for row in values]
    layers = Totals(torch.tensor([[*row, *[0] * (max(sizes) - len(row))] for row in values]), sizes)
    ends: list[Sequence[Any]] = [range(reach + 1) for reach in layers.reach[:-1]]
    return Tabulation(layers, [*ends, range(least, least + layers.reach[-1] + 1)])
