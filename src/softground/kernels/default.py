"""Which kernel a task gets when none is named. Each kernel's file registers the inverses that make it exact."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from ..errors import LearnerError
from ..projections.drop import RandomDrop
from .base import Kernel
from .composed import Composed
from .guided import Guided


@singledispatch
def default_kernel(inverse: Any, space: Any) -> Kernel:
    """The kernel that needs the fewest steps; the network's own proposals with random pairs dropped serve any rule."""
    if space.sites < 2:
        raise LearnerError("A single site cannot be projected; give a rule that can be tabulated.")
    return Composed([Guided(inverse, RandomDrop(space, min(2, space.sites - 1)), marginals=True)] * 4)
