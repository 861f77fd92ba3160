"""JSON values as the types that a dataclass declares. Files may hold anything, so every value is looked at.

>>> from dataclasses import dataclass
>>> @dataclass
... class Point:
...     at: list[float]
...     name: str | None = None
>>> typed(Point, {"at": [1, 2]})
Point(at=[1.0, 2.0], name=None)
>>> typed(Point, {"at": "here"})
Traceback (most recent call last):
ValueError: 'at' is 'here'; expected list[float]
"""

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

LARGEST_WHOLE = 2**63  # whole numbers from here on fit into no tensor
SHOWN = 100  # characters of a value in a message


def typed_fields(kind: type[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a dataclass that are given, as their types; ValueError for one that it does not have."""
    hints, known = get_type_hints(kind), {f.name for f in fields(kind)}
    if unknown := sorted(set(given) - known):
        raise ValueError(f"settings that are not known here: {', '.join(map(repr, unknown))}")
    return {name: typed(hints[name], value, name) for name, value in given.items()}


def typed(kind: Any, value: Any, name: str = "value") -> Any:
    """``value`` as a ``kind``; ValueError, which calls it ``name``, where it is none."""
    origin, parts = get_origin(kind) or kind, get_args(kind)
    match value:
        case _ if kind is Any:
            return value
        case np.generic():
            return typed(kind, value.item(), name)
        case _ if origin in (Union, types.UnionType):
            for part in parts:
                try:
                    return typed(part, value, name)
                except ValueError:
                    continue
        case _ if origin is Literal:  # of the same type: JSON's true is not 1
            if any(type(value) is type(word) and value == word for word in parts):
                return value
        case dict() if is_dataclass(kind):
            return kind(**typed_fields(kind, value))  # type: ignore[operator, arg-type]
        case dict() if origin in (dict, Mapping):
            return {key: typed(parts[1], item, name) for key, item in value.items()}
        case list() if origin is list:
            return [typed(parts[0], item, name) for item in value]
        case list() | tuple() if origin is tuple:
            return tuple(typed(parts[0], item, name) for item in value)
        case str() | Path() if kind is Path and "\0" not in str(value):
            return Path(value)
        case int() if abs(value) >= LARGEST_WHOLE:
            pass
        case int() | float() if kind is float and value is not True and value is not False:
            return float(value)
        case _ if type(value) is origin or (value is None and kind is type(None)):
            return value
    shown = repr(value) if len(repr(value)) <= SHOWN else f"{repr(value)[:SHOWN]}…"
    raise ValueError(f"{name!r} is {shown}; expected {kind if parts else kind.__name__}")
