"""Descriptions of networks: layers and their arguments.

A description is plain data, so that a saved network can be rebuilt in another process without pickles::

    {"layer": "Linear", "arguments": {"in_features": 64, "out_features": 10, "bias": True}}
    {"layer": "Sequential", "parts": [["0", {"layer": …}], ["1", {"layer": …}]]}

A layer's arguments are read from its attributes of the same names, as torch's own layers keep them. Only layers with a
name in :data:`LAYERS` are described and built. Name a class of your own with ``@LAYERS.register("mine.Reader")``, if it
keeps its constructor's arguments as attributes and makes everything else from them.
"""

import importlib
import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import SoftgroundError
from ..files import Json
from ..registry import Registry
from ..retired import current

LAYERS: Registry[type[nn.Module]] = Registry("layer")
"""Layers that a description may name."""

IMAGE_NETWORKS: Registry[Callable[..., nn.Module]] = Registry("network")
"""Classifiers of one image, ``(image shape, outputs) -> module``."""

TORCH = """
    Linear Embedding Flatten Unflatten Identity Upsample ZeroPad2d
    Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d
    BatchNorm1d BatchNorm2d BatchNorm3d GroupNorm InstanceNorm1d InstanceNorm2d LayerNorm RMSNorm
    AvgPool1d AvgPool2d MaxPool1d MaxPool2d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveMaxPool2d
    ReLU ReLU6 LeakyReLU PReLU ELU SELU GELU SiLU Mish Hardswish Sigmoid Tanh Softplus
    Softmax LogSoftmax Dropout Dropout1d Dropout2d
"""
LAYERS.update({name: getattr(nn, name) for name in TORCH.split()})

MISFITS = (RuntimeError, KeyError, ValueError, TypeError, IndexError, AttributeError, ArithmeticError, SoftgroundError)
"""Errors of torch and Python for a malformed description."""


def describe(network: nn.Module) -> Json | None:
    """Describe the network; None if a part of it is not in :data:`LAYERS` or cannot be rebuilt.

    >>> describe(nn.Sequential(nn.Flatten(), nn.ReLU()))["parts"][1]
    ['1', {'layer': 'ReLU', 'arguments': {'inplace': False}}]
    """
    try:
        found = _description(network)
        build(found, network.state_dict())
    except MISFITS:
        return None
    return found


def of_known_layers(network: nn.Module) -> bool:
    """Whether the network consists of torch's layers and ours, without decisions in Python.

    A layer of ours that treats batches differently has an attribute ``static = False``.
    """
    known = ("torch.nn.modules.", "softground.")
    return all(
        type(layer).__module__.startswith(known) and getattr(layer, "static", True) and not _hooked(layer)
        for layer in network.modules()
    )


def _hooked(module: nn.Module) -> bool:
    """Whether a module does more than its class says."""
    return bool(module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module))


def build(description: Mapping[str, object], state: Mapping[str, Tensor]) -> nn.Module:
    """Build the described network, with the tensors of ``state``.

    The description is not trusted: names and shapes are checked before memory is allocated, and nothing is drawn.
    """
    with torch.device("meta"):
        network = _built(description)
    network.load_state_dict(dict(state), assign=True)
    for name, tensor in (*network.named_parameters(), *network.named_buffers()):
        if tensor.is_meta:
            raise ValueError(f"the network's {name} is not among the tensors")
    return network


def _description(module: nn.Module) -> Json:
    if _hooked(module):
        raise ValueError(f"a {type(module).__name__} with a hook does more than its class says")
    if type(module) is nn.Sequential:
        return {"layer": "Sequential", "parts": [[name, _description(part)] for name, part in module._modules.items()]}
    layer = next((name for name, kind in LAYERS.items() if kind is type(module)), None)
    if layer is None:
        raise ValueError(f"{type(module).__name__} is not among the layers that can be described")
    found = {}
    for name, parameter in inspect.signature(type(module)).parameters.items():
        if name in ("device", "dtype", "args", "kwargs") or name.startswith("_"):
            continue
        value = getattr(module, name)
        if isinstance(parameter.default, bool) and not isinstance(value, bool):
            value = value is not None  # torch's bias=True becomes the bias itself
        found[name] = _plain(value)
    return {"layer": layer, "arguments": found}


def _plain(value: object) -> Any:
    match value:
        case nn.Module():
            return _description(value)
        case Tensor():
            return value.item() if value.dim() == 0 else {"shape": list(value.shape)}
        case None | bool() | int() | float() | str():
            return value
        case tuple() | list():
            return tuple(_plain(part) for part in value)
    raise ValueError(f"a {type(value).__name__} cannot be described")


def _built(description: Mapping[str, Any]) -> nn.Module:
    name = description["layer"]
    if name == "Sequential":
        return nn.Sequential(OrderedDict((part, _built(layer)) for part, layer in description["parts"]))
    if name not in LAYERS:
        importlib.import_module("..tasks", __package__)  # registers the tasks' layers
    known = dict.fromkeys(inspect.signature(LAYERS[name]).parameters)
    return LAYERS[name](**{key: _argument(value) for key, value in current(description["arguments"], known).items()})


def _argument(value: Any) -> Any:
    match value:
        case {"layer": _}:
            return _built(value)
        case {"shape": shape}:
            return torch.empty(tuple(shape))
        case tuple() | list():
            return tuple(_argument(part) for part in value)
    return value
