"""Kernels one after the other. If each leaves Q* invariant, so does their composition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..dice import Dice
from ..errors import LearnerError
from ..target import Target
from .base import Info, Kernel


class Composed(Kernel):
    """Apply kernels in turn, as one kernel: ``Composed([guided, collapsed])``, or T steps: ``Composed([kernel] * T)``.

    The acceptance reported is the mean over the steps; ``moved`` compares the end with the beginning; the
    marginals are the last step's.
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

    def static(self, target: Target[Any]) -> bool:
        return all(kernel.static(target) for kernel in self.kernels)
