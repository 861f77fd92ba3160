"""Early checks: that folders exist and that data fit into memory."""

import copy
from decimal import Decimal
from os import PathLike
from pathlib import Path

import torch
from torch import Tensor, nn

from ..errors import DataError
from ..files import memory_size
from .gathered import Gathered

SMALL_BATCH = 2**22  # input values; no ready-made network needs more than a few gigabytes for fewer


def existing_folder(given: str | PathLike[str], holds: str) -> Path:
    """Check a folder's path, with ``~`` as the user's home; ``holds`` names the expected content."""
    try:
        root = Path(given).expanduser()
        if root.is_dir():
            return root
        reason = "is a file" if root.exists() else "does not exist"
    except (OSError, RuntimeError, ValueError) as error:  # the name is too long, or the user is unknown
        reason = f"cannot be used ({error})"
    raise DataError.of({"data_dir": str(given)}, f", which {reason}; give the folder that holds {holds}.")


def check_room(what: str, count: int, each: int) -> None:
    """Refuse ``count`` things of ``each`` bytes that would take more than three quarters of this machine's memory.

    >>> check_room("boards", 50, 16 * 28 * 28)
    """
    memory = memory_size()
    if 4 * count * each > 3 * memory:
        raise DataError(
            f"{Decimal(count):.3g} {what} of {each:,} bytes were asked for, and this machine has {memory:.3g} bytes of "
            "memory: ask for fewer or smaller ones."
        )


def check_activations(network: nn.Module, x: Tensor | Gathered, batch_size: int) -> None:
    """Refuse batches of ``batch_size`` inputs like ``x[0]`` whose activations, kept for the gradient, do not fit.

    The network runs on torch's meta device, which has shapes without values. With a GPU, nothing is checked.
    """
    if isinstance(x, Gathered) and getattr(network, "image_by_image", False):
        images = min(batch_size * x.index.shape[1], len(x.pool))  # the network reads each once
        x, batch_size = x.pool[:, None], images
    if torch.cuda.is_available() or batch_size * x[0].numel() < SMALL_BATCH:
        return
    each = 0

    def count(layer: nn.Module, given: object, output: Tensor) -> None:
        nonlocal each
        each += output.nbytes

    shadow = copy.deepcopy(network).to("meta").eval()
    for layer in shadow.modules():
        if not list(layer.children()):
            layer.register_forward_hook(count)
    with torch.no_grad():
        shadow(torch.empty((1, *x.shape[1:]), dtype=x.dtype, device="meta"))
    check_room("examples in one batch, with activations", batch_size, each)
