"""Whether a network's activations for a batch fit into memory, asked before any are computed."""

import copy
from typing import Any

import torch
from torch import Tensor, nn

from ..data.checks import check_room
from ..data.gathered import Gathered

SMALL_BATCH = 2**22  # input values; no ready-made network needs more than a few gigabytes for fewer


def check_activations(network: nn.Module, x: Tensor | Gathered, batch_size: int) -> None:
    """Refuse batches of ``batch_size`` inputs like ``x[0]`` whose activations, kept for the gradient, do not fit.

    The network runs on torch's meta device, which knows shapes and no values. Nothing is checked where there is a GPU.
    """
    if isinstance(x, Gathered) and getattr(network, "image_by_image", False):
        images = min(batch_size * x.index.shape[1], len(x.pool))  # each is read once
        x, batch_size = x.pool[:, None], images
    if torch.cuda.is_available() or batch_size * x[0].numel() < SMALL_BATCH:
        return
    each = 0

    def count(layer: nn.Module, given: Any, output: Tensor) -> None:
        nonlocal each
        each += output.nbytes

    shadow = copy.deepcopy(network).to("meta").eval()
    for layer in shadow.modules():
        if not list(layer.children()):
            layer.register_forward_hook(count)
    with torch.no_grad():
        shadow(torch.empty((1, *x.shape[1:]), dtype=x.dtype, device="meta"))
    check_room("examples in one batch, with activations", batch_size, each)
