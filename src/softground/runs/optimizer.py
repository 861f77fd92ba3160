"""An optimiser's state as named tensors and JSON, so that it can be stored without pickle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..errors import CheckpointError
from .codec import decode, encode


def pack_optimizer(state: Mapping[str, Any]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Split ``optimizer.state_dict()`` into tensors and JSON-safe meta.

    Nothing here knows a particular optimiser: any nesting of dicts, lists, tuples, tensors, numbers,
    strings, booleans and None is taken. The tensors are copies, so training may go on afterwards.

    >>> import torch
    >>> weights = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = torch.optim.Adam([weights])
    >>> weights.sum().backward()
    >>> optimizer.step()
    >>> tensors, meta = pack_optimizer(optimizer.state_dict())
    >>> sorted(tensors)
    ['state/0/exp_avg', 'state/0/exp_avg_sq', 'state/0/step']
    >>> unpack_optimizer(tensors, meta)["param_groups"][0]["betas"]
    (0.9, 0.999)
    """
    tensors: dict[str, Tensor] = {}
    meta: dict[str, Any] = encode(dict(state), tensors)
    return tensors, meta


def unpack_optimizer(tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> dict[str, Any]:
    """The state dict that :func:`pack_optimizer` split, ready for ``optimizer.load_state_dict``.

    Raises
    ------
    CheckpointError
        When the two halves do not belong together.
    """
    try:
        state = decode(dict(meta), tensors)
        if not isinstance(state, dict):
            raise ValueError(f"it describes a {type(state).__name__}, not a state dict")
    except ValueError as error:
        raise CheckpointError(
            f"The optimiser's state cannot be rebuilt: {error}. "
            "Pass the tensors and the meta of one pack_optimizer call, with their names unchanged."
        ) from error
    return state


def lay_out_like_parameters(optimizer: Any) -> None:
    """Store what an optimiser remembers of each parameter in the parameter's own memory order.

    A checkpoint holds plain rows. A fused optimiser walks through parameter and memory side by side, and takes for
    granted that they are stored alike.
    """
    for parameter, known in optimizer.state.items():
        for name, value in known.items():
            if isinstance(value, Tensor) and value.shape == parameter.shape and value.stride() != parameter.stride():
                known[name] = torch.empty_like(parameter, dtype=value.dtype).copy_(value)


__all__ = ["lay_out_like_parameters", "pack_optimizer", "unpack_optimizer"]
