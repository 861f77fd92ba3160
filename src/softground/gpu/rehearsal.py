"""Whether work asks the device for values, found by doing it once under watch.

A GPU can record work whose operations and shapes never depend on values. An operation that gives a value to Python, or
whose result is as long as values say, makes the CPU wait for the GPU and cannot be recorded. Those operations are
refused here, on any device, so that a CPU can tell what a GPU could record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

ASKING = {"_local_scalar_dense", "nonzero", "masked_select", "_unique", "_unique2", "unique_dim", "equal", "is_nonzero"}
ASKING |= {"unique_consecutive", "unique_dim_consecutive", "repeat_interleave", "bincount", "histc", "nonzero_numpy"}
INDEXING = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"}


class AsksDevice(RuntimeError):  # no error of a user's
    """An operation gives values to Python, or a result whose length depends on values."""


class NothingAsked(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Refuses, while it is on, every operation that would make a CPU wait for a GPU."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if (name in ASKING and not _of_known_length(name, args, kwargs)) or (name in INDEXING and _by_mask(args[1])):
            raise AsksDevice(f"The operation {name} asks the device for values.")
        return func(*args, **(kwargs or {}))


def _of_known_length(name: str, args: Sequence[Any], kwargs: Any) -> bool:
    return name == "repeat_interleave" and (kwargs or {}).get("output_size") is not None


def _by_mask(indices: Sequence[Any]) -> bool:
    return any(isinstance(each, Tensor) and each.dtype in (torch.bool, torch.uint8) for each in indices)


def asks_nothing(work: Callable[[], Any]) -> bool:
    """Do some work, and say whether it got to its end without asking the device for a value."""
    try:
        with NothingAsked():  # type: ignore[no-untyped-call]
            work()
    except AsksDevice:
        return False
    return True
