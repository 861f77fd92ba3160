"""Two checkpoints, and what it takes to compare them, for the tests of checkpoints."""

from __future__ import annotations

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


def files(folder: Path) -> list[Path]:
    """The checkpoints' files, the current one last."""
    return sorted(folder.glob("checkpoint-*.safetensors"))


def current_file(folder: Path) -> Path:
    return files(folder)[-1]


def expect_damage(folder: Path) -> str:
    """The current checkpoint is refused with a full message, and the previous one still loads."""
    with pytest.raises(CheckpointError) as caught:
        checkpoint.load(folder)
    message = str(caught.value)
    assert str(folder) in message
    assert "The previous checkpoint is intact: use previous=True" in message
    assert same(checkpoint.load(folder, previous=True), FIRST)
    return message


def disguise(folder: Path, data: bytes) -> None:
    """Put ``data`` in the current file's place under a name that fits, as a forger would."""
    path = current_file(folder)
    path.unlink()
    number = path.name.split("-")[1]
    (folder / f"checkpoint-{number}-{checkpoint.digest(data)}.safetensors").write_bytes(data)


def header(content: str) -> bytes:
    return len(content.encode()).to_bytes(8, "little") + content.encode()
