"""Compositions of kernels, and the default kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..dice import Dice
from ..errors import LearnerError
from ..inverses.base import Inverse, own_kernel
from ..projections.base import Walk
from ..projections.drop import RandomDrop
from ..spaces.base import Space
from ..target import Target
from .base import KERNELS, Info, Kernel
from .exact import Exact
from .guided import Guided

if TYPE_CHECKING:
    from ..task import Task


class Composed(Kernel):
    """Apply kernels in turn, as one kernel: ``Composed([guided, collapsed])``, or T steps: ``Composed([kernel] * T)``.

    If each leaves Q* invariant, so does their composition. The acceptance reported is the mean over the steps,
    ``moved`` compares the end with the beginning, and the marginals are the last step's.
    """

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        if not kernels:
            raise LearnerError("An empty composition was given; expected at least one kernel.")
        self.kernels = tuple(kernels)

    def __repr__(self) -> str:
        return f"Composed({list(self.kernels)!r})"

    def step(self, dice: Dice, z: Tensor, target: Target[Any]) -> tuple[Tensor, Info]:
        before, steps = z, []
        for kernel in self.kernels:
            z, step = kernel.step(dice, z, target)
            steps.append(step)
        acceptance = torch.stack([s.acceptance for s in steps]).mean(0)
        unknown = torch.stack([s.unknown for s in steps]).any(0)
        return z, Info(acceptance, (before != z).any(-1), unknown, steps[-1].marginals)

    def bound(self, task: Task) -> Kernel:
        return Composed([kernel.bound(task) for kernel in self.kernels])


@KERNELS.register("auto")
def _by_name(walk: Walk, marginals: bool) -> Kernel:
    """The default for a walk without a task; a recipe lets the learner try projections instead."""
    return default_kernel(walk.inverse, walk.space)


def default_kernel(inverse: Inverse, space: Space) -> Kernel:
    """The kernel that needs the fewest steps: the exact one, else the inverse's own, else the guided one.

    The guided kernel, with random pairs dropped, serves any rule on symbols.
    """
    kernel = Exact(inverse) if inverse.exact else own_kernel(inverse)
    if kernel is not None:
        return kernel
    if space.sites < 2:
        raise LearnerError("A single site cannot be projected; give a rule that can be tabulated.")
    return Composed([Guided(inverse, RandomDrop(space, min(2, space.sites - 1)), marginals=True)] * 4)
