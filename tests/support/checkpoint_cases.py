"""Two checkpoints, and what it takes to compare them, for the tests of checkpoints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from softground.errors import CheckpointError
from softground.runs import checkpoint

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


def expect_damage(folder: Path) -> str:
    """The current checkpoint is refused with a full message, and the previous one still loads."""
    with pytest.raises(CheckpointError) as caught:
        checkpoint.load(folder)
    message = str(caught.value)
    assert str(folder) in message
    assert "load(folder, previous=True)" in message
    assert "--previous" in message
    assert same(checkpoint.load(folder, previous=True), FIRST)
    return message


def rewrite(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    content = pointer(folder)
    change(content)
    (folder / "checkpoint.json").write_text(json.dumps(content))


def disguise(folder: Path, data: bytes) -> None:
    """Put ``data`` in the current file with a digest that fits, as a forger would."""
    current_file(folder).write_bytes(data)
    rewrite(folder, lambda p: p["current"].update(sha256=checkpoint._digest(data), size=len(data)))


def header(content: str) -> bytes:
    return len(content.encode()).to_bytes(8, "little") + content.encode()
