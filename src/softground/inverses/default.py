"""Which inverse a rule gets when none is named. Each inverse's file registers the rules it serves best."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from .base import Inverse
from .enumeration import Enumeration


@singledispatch
def default_inverse(constraint: Any, space: Any) -> Inverse:
    """The fastest inverse that fits; enumeration of the dropped sites serves any rule on symbols."""
    return Enumeration(space, constraint)
