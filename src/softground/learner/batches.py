"""Examples on their way to the network: held on the device where they are tensors, fetched otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torch.utils.data._utils.collate import default_collate

from ..data.examples import Examples
from ..errors import DataError


class Batches:
    """Access to a map-style data set of ``(x, y)`` by batches of positions.

    :class:`~softground.data.Examples` and ``TensorDataset`` are moved to the device once and indexed there. Any other
    data set is read item by item through a ``DataLoader``, so that its own transforms run every time.
    """

    def __init__(self, data: Dataset[Any], device: torch.device, workers: int = 0) -> None:
        self.device = device
        self.workers = workers
        self._data = data
        try:
            self.count = len(data)  # type: ignore[arg-type]
        except TypeError:
            raise DataError(f"{type(data).__name__} has no length; give a map-style data set of (x, y) pairs.") from None
        if self.count == 0:
            raise DataError("The data set is empty; give at least one (x, y) pair.")
        self.symbols: Tensor | None = None
        self._x: Tensor | None = None
        if isinstance(data, TensorDataset) and len(data.tensors) == 2:
            data = Examples(data.tensors[0], data.tensors[1].tolist())
        if isinstance(data, Examples):
            self._x, self.answers = data.x.to(device), list(data.y)
            self.symbols = None if data.symbols is None else data.symbols.to(device)
        else:
            self.answers = [self._pair(i)[1] for i in range(self.count)]
            known = getattr(data, "symbols", None)
            self.symbols = known.to(device) if isinstance(known, Tensor) else None

    def __len__(self) -> int:
        return self.count

    def _pair(self, index: int) -> tuple[Any, Any]:
        item = self._data[index]
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise DataError(f"Item {index} of the data set is a {type(item).__name__}; expected a pair (x, y).")
        return item[0], item[1]

    def walk(self, positions: list[Tensor]) -> Iterator[tuple[Tensor, Any]]:
        """``(positions, x)`` for each list of positions, both on the device."""
        if self._x is not None:
            for index in positions:
                there = index.to(self.device)
                yield there, self._x[there]
            return
        loader: DataLoader[Any] = DataLoader(
            _Inputs(self), batch_sampler=[p.tolist() for p in positions], num_workers=self.workers, collate_fn=_collate
        )
        for index, x in zip(positions, loader, strict=True):
            yield index.to(self.device), _to(x, self.device)

    def in_order(self, size: int) -> list[Tensor]:
        """All positions in order, cut into batches."""
        return list(torch.arange(self.count).split(size))


class _Inputs(Dataset[Any]):
    def __init__(self, batches: Batches) -> None:
        self._batches = batches

    def __getitem__(self, index: int) -> tuple[int, Any]:
        return index, self._batches._pair(index)[0]


def _collate(items: list[tuple[int, Any]]) -> Any:
    try:
        return default_collate([torch.as_tensor(x) if not isinstance(x, dict | list | tuple) else x for _, x in items])
    except (RuntimeError, TypeError) as error:
        shapes = {i: tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__ for i, x in items[:8]}
        raise DataError(f"These inputs cannot be stacked into a batch: {shapes}. Give tensors of one shape.") from error


def _to(x: Any, device: torch.device) -> Any:
    if isinstance(x, dict):
        return {k: _to(v, device) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return [_to(v, device) for v in x]
    return x.to(device)
