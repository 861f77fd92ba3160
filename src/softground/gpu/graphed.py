"""A kernel whose steps a GPU plays back from a recording (:mod:`softground.gpu.recording`).

The operations, and so the law and the very draws, are the same. Only steps whose operations and shapes never depend on
values can be recorded. A kernel says so by ``static(target)``; all others, and CPUs, take their steps as usual.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, cast

from torch import Tensor

from ..dice import Dice, Sampler
from ..kernels.base import Info, Kernel
from ..target import Target
from .recording import NotRecordable, Recorded

MOST = 2  # temperatures whose recordings are kept


class Graphed(Kernel):
    """The same kernel, its steps recorded and played back where that is possible."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._refused = False
        self._steps: dict[Any, Recorded] = {}

    def __repr__(self) -> str:
        return repr(self.kernel)

    def step(self, dice: Dice, z: Tensor, target: Target[Any]) -> tuple[Tensor, Info]:
        """One transition of every chain; what it returns is overwritten by the next step."""
        if self._refused or not z.is_cuda or not self.kernel.static(target):
            return self.kernel.step(dice, z, target)
        dice = cast(Sampler, dice)  # the only dice that roll on a GPU
        names, constants = _parts(target.weights)
        key = (id(dice), target.gamma, constants)
        if key not in self._steps:
            while len(self._steps) >= MOST:
                self._steps.pop(next(iter(self._steps)))
            self._steps[key] = self._recorded(dice, target, names)
        try:
            result: tuple[Tensor, Info] = self._steps[key](
                z, target.answers, *(getattr(target.weights, name) for name in names)
            )
            return result
        except NotRecordable as error:  # a part of the user's own asks for values after all
            self._refused = True
            if error.place is not None:
                dice.renew(error.place)
            return self.kernel.step(dice, z, target)

    def static(self, target: Target[Any]) -> bool:
        return self.kernel.static(target)

    def _recorded(self, dice: Sampler, target: Target[Any], names: list[str]) -> Recorded:
        """The step as a function of its tensors; everything else about the target is taken for granted."""

        def step(z: Tensor, answers: Tensor, *parts: Tensor) -> tuple[Tensor, Info]:
            weights = replace(target.weights, **dict(zip(names, parts, strict=True)))
            return self.kernel.step(dice, z, replace(target, weights=weights, answers=answers))

        return Recorded(step, lambda: dice.generator)


def _parts(weights: Any) -> tuple[list[str], tuple[Any, ...]]:
    """The names of the weights' tensors, and what is known of the other parts."""
    parts = {field.name: getattr(weights, field.name) for field in fields(weights)}
    names = [name for name, part in parts.items() if isinstance(part, Tensor)]
    return names, tuple(p if isinstance(p, float) else id(p) for p in parts.values() if not isinstance(p, Tensor))
