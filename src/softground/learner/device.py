"""Where to compute: the device that is named, and Lightning Fabric on it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

import torch

from ..errors import LearnerError

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def chosen_device(device: Literal["auto", "cpu", "cuda"] | str) -> torch.device:
    """The device named; a GPU where there is one and none is named."""
    if device not in ("auto", "cpu") and not torch.cuda.is_available():
        raise LearnerError(f"device={device!r} was given, but torch sees no GPU. Use device='cpu' or 'auto'.")
    if device == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    found = torch.device("cuda" if device == "auto" else device)
    return found if found.index is not None else torch.device("cuda", torch.cuda.current_device())


def make_fabric(device: Literal["auto", "cpu", "cuda"] = "auto") -> Fabric:
    """Fabric for one process, or for those that ``torchrun`` started."""
    from lightning_fabric import Fabric  # here, because it takes longer to import than all the rest

    kind = chosen_device(device).type
    local = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    nodes = int(os.environ.get("WORLD_SIZE", 1)) // local
    fabric = Fabric(accelerator=kind, devices=local, num_nodes=nodes, strategy="ddp" if local * nodes > 1 else "auto")
    fabric.launch()
    return fabric
