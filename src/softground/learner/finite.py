"""Numbers that are not finite: which they are, and the errors that name them."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import NonFiniteOutput

SHOWN = 8  # names in a message


def complaint(bad: Tensor, index: Tensor) -> NonFiniteOutput:
    """The error for the rows ``bad`` of a batch of examples ``index``, which anchors may follow."""
    places = index.tolist()
    rows = [places[row] if row < len(places) else "an anchor" for row in bad.nonzero().flatten().tolist()]
    return NonFiniteOutput(
        f"The network's output holds NaN or infinity for {len(rows)} of the {len(bad)} examples of a batch: "
        f"{_listed(rows)}. Lower the learning rate, or look for NaN in the inputs."
    )


def unlearnable(loss: Tensor, network: nn.Module) -> NonFiniteOutput:
    """The error for a loss or a gradient that is not finite, or not when squared, though the outputs are."""
    remedy = "Lower the learning rate, or look for very large inputs or outputs."
    if not bool(torch.isfinite(loss)):
        return NonFiniteOutput(f"The loss is {float(loss):g}, though the network's outputs are finite. {remedy}")
    if not (names := broken(gradients(network))):
        what = "its square, or that of its gradient, is more than a number can hold"
        return NonFiniteOutput(f"The loss is {float(loss):g}: {what}. {remedy}")
    return NonFiniteOutput(
        f"The loss is {float(loss):g}, but its gradient holds NaN or infinity at the network's {_listed(names)}. Lower "
        "the learning rate, or look for a square root, logarithm or division at 0 in the network or the objective."
    )


def gradients(network: nn.Module) -> dict[str, Tensor]:
    """The gradients that the network's parameters hold, by name; of sparse ones the values that are there."""
    found = {name: value.grad for name, value in network.named_parameters() if value.grad is not None}
    return {name: grad.coalesce().values() if grad.is_sparse else grad for name, grad in found.items()}


def everything(network: nn.Module, optimizer: Any, memories: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """What a checkpoint would hold of these, by what a message calls it."""
    parts = {f"network's {name}": value for name, value in network.state_dict().items()}
    for number, memory in optimizer.state_dict()["state"].items():
        parts |= {f"optimiser's {name} of parameter {number}": value for name, value in memory.items()}
    for number, memory in enumerate(memories, start=1):
        of = f" (shape number {number})" if number > 1 else ""
        parts |= {f"examples' {name}{of}": value for name, value in memory.items()}
    return {name: value for name, value in parts.items() if isinstance(value, Tensor)}


def broken(tensors: Mapping[str, Tensor]) -> list[str]:
    """The names of those that hold NaN or infinity; a GPU is asked once.

    >>> broken({"weight": torch.tensor([1.0, torch.nan]), "bias": torch.zeros(2), "steps": torch.tensor(3)})
    ['weight']
    """
    able = {name: value for name, value in tensors.items() if value.is_floating_point() or value.is_complex()}
    if not able:
        return []
    device = next(iter(able.values())).device  # optimisers keep some of their numbers on the CPU
    finite = torch.stack([torch.isfinite(value).all().to(device, non_blocking=True) for value in able.values()])
    return [name for name, good in zip(able, finite.tolist(), strict=True) if not good]


def _listed(names: Sequence[int | str]) -> str:
    return ", ".join(map(str, names[:SHOWN])) + (" …" if len(names) > SHOWN else "")
