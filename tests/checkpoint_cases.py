"""Two checkpoints, and what it takes to compare them, for the tests of checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

FIRST = ({"w": torch.arange(6.0).reshape(2, 3)}, {"epoch": 1})
SECOND = ({"w": -torch.arange(6.0).reshape(2, 3)}, {"epoch": 2})


def same(left: tuple[Any, Any], right: tuple[Any, Any]) -> bool:
    """Equal names, dtypes, shapes, bits and meta."""
    tensors, others = left[0], right[0]
    return (
        left[1] == right[1]
        and tensors.keys() == others.keys()
        and all(
            tensors[key].dtype == others[key].dtype
            and tensors[key].shape == others[key].shape
            and raw(tensors[key]) == raw(others[key])
            for key in tensors
        )
    )


def raw(tensor: Tensor) -> bytes:
    return tensor.detach().clone(memory_format=torch.contiguous_format).view(-1).view(torch.uint8).numpy().tobytes()


def pointer(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "checkpoint.json").read_text())
    return found


def current_file(folder: Path) -> Path:
    return folder / pointer(folder)["current"]["file"]
