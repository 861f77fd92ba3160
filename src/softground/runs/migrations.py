"""Older formats, brought up to date when they are read.

Everything that a run folder keeps has the number of its format, its schema; where there is none it is 1. A change of
format is one function here: under ``1`` the one that makes a value of schema 2 out of one of schema 1, and so on. What
is newest follows from that, so nothing else has to be changed::

    CONFIGS[1] = lambda config: config | {"task": NEW_NAMES.get(config["task"], config["task"])}

Nothing is rewritten on disk by reading it; the next save writes the newest format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from torch import Tensor

from ..files import Unreadable

T = TypeVar("T")
Steps = dict[int, Callable[[T], T]]

POINTERS: Steps[dict[str, Any]] = {}
"""``checkpoint.json``."""
CHECKPOINTS: Steps[tuple[dict[str, Tensor], dict[str, Any]]] = {}
"""Tensors and meta of a checkpoint's file, each file by the schema it was written with."""
CONFIGS: Steps[dict[str, Any]] = {}
"""``config.json``."""
SUMMARIES: Steps[dict[str, Any]] = {}
"""``summary.json``."""


class Newer(Unreadable):
    """A newer version of the library wrote this."""

    remedy = "Upgrade softground to a version at least as new as the one that saved it"


def newest(steps: Mapping[int, Any]) -> int:
    """The schema that this version writes."""
    return max(steps, default=0) + 1


def migrated(value: T, schema: object, steps: Mapping[int, Callable[[T], T]]) -> T:
    """``value``, written with ``schema``, as this version writes it.

    >>> migrated("ab", 1, {1: str.upper, 2: lambda text: text + "!"})
    'AB!'

    Raises
    ------
    Newer
        Where the schema is newer than this version knows.
    Unreadable
        Where it is no schema at all, or the value is not what that schema says.
    """
    last = newest(steps)
    if type(schema) is not int or schema < 1:
        raise Unreadable(f"its schema is {schema!r} instead of {last}")
    if schema > last:
        raise Newer(f"it has schema {schema}, and this version of softground reads up to {last}")
    for number in range(schema, last):
        try:
            value = steps[number](value)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise Unreadable(f"it is not what schema {number} says ({type(error).__name__}: {error})") from error
    return value


__all__ = ["CHECKPOINTS", "CONFIGS", "POINTERS", "SUMMARIES", "Newer", "Steps", "migrated", "newest"]
