"""Lists of states, as codes in runs of neighbouring sites: a log-weight takes one look-up per run, not per site."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad

# Largest table of partial scores per example when log P is looked up by state index. 2,048 float32 numbers
# stay in a CPU's first-level cache; the exact figure changes nothing but speed.
BLOCK_LIMIT = 2048


def runs(sizes: tuple[int, ...]) -> list[range]:
    """The runs of neighbouring sites whose joint tables are no larger than they may be, the last one first."""
    return _runs(sizes, BLOCK_LIMIT)


@lru_cache(maxsize=256)
def _runs(sizes: tuple[int, ...], limit: int) -> list[range]:
    found, stop = list[range](), len(sizes)
    while stop:
        start, entries = stop - 1, sizes[stop - 1]
        while start and entries * sizes[start - 1] <= limit:
            start -= 1
            entries *= sizes[start]
        found.append(range(start, stop))
        stop = start
    return found


def alphabets(sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The sizes of the sites' alphabets, run by run."""
    return [sizes[run.start : run.stop] for run in runs(sizes)]


def joint_scores(each: Sequence[Tensor], sizes: tuple[int, ...]) -> list[Tensor]:
    """Scores of sites, ``[rows, size]`` each, as those of runs of neighbouring sites together, the last run first.

    A state then takes one look-up per run: for length-7 formulas two (of 324 and 1,296 entries) instead of seven.
    """
    found = []
    for sites in runs(sizes):
        joint = each[sites[-1]]
        for site in reversed(sites[:-1]):
            joint = (each[site][:, :, None] + joint[:, None, :]).flatten(1)
        found.append(joint)
    return found


def codes_of(index: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """States by their indices as codes in runs of sites, ``[runs, states]``, as small as they are."""
    found = list[Tensor]()
    for run in runs(sizes):
        count = math.prod(sizes[site] for site in run)
        found.append((index % count).to(small(sizes)))
        index = index // count
    return torch.stack(found)


def index_of(codes: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Undoes :func:`codes_of`."""
    index = torch.zeros_like(codes[0], dtype=torch.long)
    for code, sites in zip(codes.flip(0), reversed(runs(sizes)), strict=True):
        index = index * math.prod(sizes[site] for site in sites) + code
    return index


def small(sizes: tuple[int, ...]) -> torch.dtype:
    """What codes of runs fit into."""
    return torch.int16 if max(BLOCK_LIMIT, *sizes) < 2**15 else torch.long


@lru_cache(maxsize=64)
def ways(sizes: tuple[int, ...], width: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Which symbols the codes of a run of sites stand for, ``[codes, sites · K]`` of 0 and 1."""
    return one_hot(symbols(sizes, device), width).flatten(1).to(dtype)


@lru_cache(maxsize=64)
def symbols(sizes: tuple[int, ...], device: torch.device) -> Tensor:
    """The symbols of every code of a run of sites, ``[codes, sites]``."""
    return torch.cartesian_prod(*map(torch.arange, sizes)).view(-1, len(sizes)).to(device)


def ragged(count: Tensor) -> tuple[Tensor, Tensor]:
    """The owner of each entry, and where each row begins, for rows with ``count`` entries."""
    owner = torch.arange(len(count), device=count.device).repeat_interleave(count)
    return owner, pad(count.cumsum(0), (1, 0))


def entries(first: Tensor, count: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The entries of a list, given where each row begins and how many it holds, and :func:`ragged`."""
    owner, offsets = ragged(count)
    return torch.arange(len(owner), device=owner.device) + (first - offsets[:-1])[owner], owner, offsets


@dataclass(frozen=True, eq=False)
class Solutions:
    """All of S_y for a batch of answers: example b owns the states ``index[offsets[b] : offsets[b + 1]]``."""

    index: Tensor
    owner: Tensor  # repeats b over its row
    offsets: Tensor

    @property
    def count(self) -> Tensor:
        """|S_y| per example."""
        return self.offsets.diff()


@dataclass(frozen=True, eq=False)
class ByAnswer:
    """States by the number of their answer: number n owns those from ``offsets[n]`` to ``offsets[n + 1]``."""

    codes: Tensor  # in runs of sites; others may stand before the first and after the last
    offsets: Tensor
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, lists: Sequence[Tensor], sizes: tuple[int, ...], device: torch.device) -> ByAnswer:
        """From the indices of each number's states."""
        count = torch.tensor([len(index) for index in lists], dtype=torch.long, device=device)
        index = torch.cat([torch.zeros(0, dtype=torch.long, device=device), *(index.to(device) for index in lists)])
        return cls(codes_of(index, sizes), pad(count.cumsum(0), (1, 0)), sizes)

    def to(self, device: torch.device) -> ByAnswer:
        """A copy on ``device``."""
        return ByAnswer(self.codes.to(device), self.offsets.to(device), self.sizes)

    def rows(self, number: Tensor) -> Tensor:
        """Where the states of each number begin, and how many it has, ``[rows, 2]``; a number that is not here none."""
        known = (number >= 0) & (number < len(self.offsets) - 1)
        safe = torch.where(known, number, 0)
        first = self.offsets[safe]
        count = torch.where(known, self.offsets[(safe + 1).clamp(max=len(self.offsets) - 1)] - first, 0)
        return torch.stack([first, count], 1)

    def index(self, place: Tensor) -> Tensor:
        """The states at these places, by their indices."""
        return index_of(self.codes[:, place], self.sizes)

    def drawn(self, number: Tensor, seed: int) -> tuple[Tensor, Tensor]:
        """One state of each number that has any, drawn uniformly, by its index; and which have, ``[rows]``."""
        chance = torch.Generator().manual_seed(seed)
        uniform = torch.rand(len(number), generator=chance, dtype=torch.float64, device="cpu").to(number.device)
        first, count = self.rows(number).unbind(1)
        place, found = first + (uniform * count).long(), count > 0
        return self.index(place[found]), found
