"""Which kernel a task gets when none is named."""

from __future__ import annotations

from ..errors import LearnerError
from ..inverses.base import Inverse
from ..projections.drop import RandomDrop
from ..spaces.base import Space
from .base import Kernel
from .composed import Composed
from .exact import Exact
from .guided import Guided


def default_kernel(inverse: Inverse, space: Space) -> Kernel:
    """The kernel that needs the fewest steps: the exact one, or one that the inverse names.

    The network's own proposals, with random pairs dropped, serve any rule on symbols.
    """
    kernel = Exact(inverse) if inverse.exact else inverse.default_kernel()
    if kernel is not None:
        return kernel
    if space.sites < 2:
        raise LearnerError("A single site cannot be projected; give a rule that can be tabulated.")
    return Composed([Guided(inverse, RandomDrop(space, min(2, space.sites - 1)), marginals=True)] * 4)
