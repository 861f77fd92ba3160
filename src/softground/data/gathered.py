"""Inputs that show the same images again and again: a pool of images, and which of them each example shows.

6,000 rows of 1,024 images are 4.8 GB of bytes, and the images that they were dealt from 47 MB. Only a batch is ever put
together, on the device where the pool lies. Not even that where a batch shows no fewer images than the pool has: a
network that reads image by image then reads the pool, each image once, and what it read is dealt out to the rows.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class Gathered:
    """The inputs ``pool[index]``, ``[examples, sites, …]``, of which some rows at a time are made.

    >>> x = Gathered(torch.tensor([[10], [20], [30]]), torch.tensor([[2, 0], [1, 1]]))
    >>> x.shape, x[1].tolist(), x.rows([0])[:].tolist()
    (torch.Size([2, 2, 1]), [[20], [20]], [[[30], [10]]])
    """

    def __init__(self, pool: Tensor, index: Tensor) -> None:
        self.pool, self.index = pool, index
        self.shape, self.dtype = torch.Size([*index.shape, *pool.shape[1:]]), pool.dtype

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, rows: Any) -> Tensor:
        return self.pool[self.index[rows]]

    def batch(self, rows: Tensor) -> Tensor | Gathered:
        """Some examples: put together or, where they show no fewer images than there are, with the whole pool."""
        return self[rows] if self.index[rows].numel() < len(self.pool) else self.rows(rows)

    def dealt(self, read: Tensor) -> Tensor:
        """What was ``read`` of each image of the pool, ``[images, …]``, for every example: ``[examples, sites, …]``."""
        return read.index_select(0, self.index.flatten()).view(*self.index.shape, *read.shape[1:])

    def rows(self, rows: Any) -> Gathered:
        """Some of the examples, with the whole pool."""
        return Gathered(self.pool, self.index[rows])

    def dim(self) -> int:
        """How many dimensions the inputs have."""
        return len(self.shape)

    def to(self, device: torch.device) -> Gathered:
        """The same on another device."""
        return Gathered(self.pool.to(device), self.index.to(device))
