"""Which rows a component stands in, as padded lists: what a Gibbs step on one component has to look at.

A row without the component says nothing about it. So of all rows ``[batch, n, n]`` those that hold component k are
listed, and of these rows the entries: ``[batch, n, D, E]``, D and E being the most rows of a component and the most
entries of a row. In a sparse graph both stay small as n grows, and a sweep takes time in proportion to n.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from .differences import Rows


class Neighbours(NamedTuple):
    """For each component: its weights in its rows, and the other entries of these rows; ∞ where there is none."""

    own_marked: Tensor  # [batch, n, D]
    own_other: Tensor
    marked: Tensor  # [batch, n, D, E]
    others: Tensor
    entry: Tensor  # which component each of these is

    @classmethod
    def of(cls, rows: Rows) -> Neighbours:
        """The lists of some rows; asks how long they must be."""
        n = rows.marked.shape[-1]
        there = torch.isfinite(rows.marked) | torch.isfinite(rows.others)
        most_rows, most_entries = (max(1, int(there.sum(axis).max())) if there.numel() else 1 for axis in (1, 2))
        entry = _first(there, most_entries)  # [batch, row, E]
        row = _first(there.transpose(1, 2), most_rows)  # [batch, n, D]

        def listed(table: Tensor) -> Tensor:
            values = table.gather(2, entry)  # [batch, row, E]
            return _rows_of(values, row)

        entries = _rows_of(entry, row)
        own = entries == torch.arange(n, device=entry.device)[:, None, None]
        return cls(
            rows.marked.transpose(1, 2).gather(2, row),
            rows.others.transpose(1, 2).gather(2, row),
            listed(rows.marked).masked_fill(own, math.inf),
            listed(rows.others).masked_fill(own, math.inf),
            entries,
        )

    def least(self, z: Tensor, site: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Of each row that holds the component, the least marked value with and without it, then the other values."""
        here = z[:, site, None]
        entry = self.entry[:, site]
        beside = z.gather(1, entry.flatten(1)).view(entry.shape)
        return (
            self.own_marked[:, site] + here,
            (self.marked[:, site] + beside).amin(-1),
            self.own_other[:, site] + here,
            (self.others[:, site] + beside).amin(-1),
        )


def _first(there: Tensor, count: int) -> Tensor:
    """The places of the true entries along the last axis, ``count`` at most, filled up with place 0.

    The filling changes nothing: it repeats an entry of a list whose least is taken, or adds a row that is all ∞.
    """
    rank = torch.where(there, there.cumsum(-1) - 1, count)  # all others go to one place more, which is cut off
    places = torch.arange(there.shape[-1], device=there.device).expand_as(rank)
    return rank.new_zeros(*rank.shape[:-1], count + 1).scatter_(-1, rank, places)[..., :count]


def _rows_of(table: Tensor, row: Tensor) -> Tensor:
    """``table[batch, row, E]`` at ``row[batch, n, D]``: ``[batch, n, D, E]``."""
    batch, n, most = row.shape
    index = row.flatten(1)[..., None].expand(-1, -1, table.shape[-1])
    return table.gather(1, index).view(batch, n, most, -1)
