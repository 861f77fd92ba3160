"""Python values as strict JSON and back, exactly.

JSON alone turns tuples into lists, number keys into strings, and has no infinity. A resumed run must get
back what it stored, so the values JSON cannot hold become small tagged objects::

    (0.9, 0.999)   {"$": "tuple", "items": [0.9, 0.999]}
    {0: "a"}       {"$": "dict", "items": [[0, "a"]]}
    math.inf       {"$": "float", "value": "inf"}
    Fraction(7, 2) {"$": "fraction", "value": "7/2"}
    a tensor       {"$": "tensor", "name": "state/0/exp_avg"}   (the tensor itself is set aside)

Finite floats need no tag: JSON text holds their shortest exact representation.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from numbers import Integral
from typing import Any

from torch import Tensor

from ..errors import CheckpointError

TAG = "$"


def encode(value: object, tensors: dict[str, Tensor] | None = None, where: str = "") -> Any:
    """Convert ``value`` to strict JSON values; tensors are moved to ``tensors``, if given.

    Raises :class:`CheckpointError` for a type with no exact form here; the message names its place.

    >>> encode({"betas": (0.9, 0.999), "best": float("inf")})
    {'betas': {'$': 'tuple', 'items': [0.9, 0.999]}, 'best': {'$': 'float', 'value': 'inf'}}
    """
    match value:
        case None | bool() | str():
            return value
        case Integral():  # numpy's too
            return int(value)
        case float():
            return float(value) if math.isfinite(value) else {TAG: "float", "value": repr(float(value))}
        case Fraction():
            return {TAG: "fraction", "value": str(value)}
        case list():
            return [encode(item, tensors, f"{where}/{i}") for i, item in enumerate(value)]
        case tuple():
            return {TAG: "tuple", "items": encode(list(value), tensors, where)}
        case Mapping():
            inner = [(key, encode(item, tensors, f"{where}/{key}")) for key, item in value.items()]
            if all(isinstance(key, str) and key != TAG for key, _ in inner):
                return dict(inner)
            return {TAG: "dict", "items": [[encode(key, None, f"{where}/{key}"), item] for key, item in inner]}
        case Tensor() if tensors is not None:
            name = where.strip("/") or "value"
            while name in tensors:
                name += "'"
            tensors[name] = value.detach().clone()
            return {TAG: "tensor", "name": name}
    raise CheckpointError(
        f"{where.strip('/') or 'the value'} is a {type(value).__name__}, which a checkpoint's meta cannot hold. "
        "Use None, bool, int, float, str, list, tuple or dict, and put tensors among the tensors."
    )


def decode(value: object, tensors: Mapping[str, Tensor] | None = None) -> Any:
    """Invert :func:`encode`. Raises ValueError for malformed values and missing ``tensors``.

    >>> decode(encode({0: (1, [2.5, None])}))
    {0: (1, [2.5, None])}
    """
    if isinstance(value, list):
        return [decode(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if TAG not in value:
        return {key: decode(item, tensors) for key, item in value.items()}
    try:
        match value[TAG]:
            case "float":
                return float(value["value"])
            case "fraction":
                return Fraction(value["value"])
            case "tuple":
                return tuple(decode(item, tensors) for item in value["items"])
            case "dict":
                return {decode(key): decode(item, tensors) for key, item in value["items"]}
            case "tensor" if tensors is not None:
                return tensors[value["name"]].clone()
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise ValueError(f"malformed entry tagged {value[TAG]!r} ({error!r})") from error
    raise ValueError(f"unknown tag {value[TAG]!r}")
