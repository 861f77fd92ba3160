"""Inputs with recurring images: a pool of images, and the index of each example's images.

6,000 rows of 1,024 images are 4.8 GB of bytes, but their pool has 47 MB. Only batches are put together, on the pool's
device. If a batch shows at least as many images as the pool has, a network that reads single images reads the pool, and
the outputs are dealt to the rows.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class Gathered:
    """The inputs ``pool[index]``, ``[examples, sites, …]``, made some rows at a time.

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
        """Some examples: put together or, if they show at least as many images as the pool has, with the pool."""
        return self[rows] if self.index[rows].numel() < len(self.pool) else self.rows(rows)

    def dealt(self, read: Tensor) -> Tensor:
        """Deal outputs ``read`` from the pool, ``[images, …]``, to the examples: ``[examples, sites, …]``."""
        return read.index_select(0, self.index.flatten()).view(*self.index.shape, *read.shape[1:])

    def rows(self, rows: Any) -> Gathered:
        """Some of the examples, with the whole pool."""
        return Gathered(self.pool, self.index[rows])

    def dim(self) -> int:
        """The number of dimensions of the inputs."""
        return len(self.shape)

    def to(self, device: torch.device) -> Gathered:
        """Move the inputs to a device."""
        return Gathered(self.pool.to(device), self.index.to(device))
