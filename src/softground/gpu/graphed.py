"""Kernel steps that a GPU plays back from a recording."""

from dataclasses import fields, replace
from typing import Any, cast

from torch import Tensor

from ..dice import Dice, Sampler
from ..kernels.base import Info, Kernel
from ..target import Target
from .recorded import NotRecordable, Recorded, recordable

TEMPERATURES_KEPT = 2  # recorded functions of a kernel


class Graphed(Kernel):
    """The same kernel, its steps recorded and played back where it is ``static(target)`` and on a GPU."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._refused = False
        self._steps: dict[Any, Recorded] = {}
        self._last: Any = None  # what the step before was like: only a second one like it is worth a recording

    def __repr__(self) -> str:
        return repr(self.kernel)

    def step(self, dice: Dice, z: Tensor, target: Target[Any]) -> tuple[Tensor, Info]:
        """One transition of every chain; the diagnostics are overwritten by the next step."""
        if self._refused or not recordable(z) or not self.kernel.static(target):
            return self.kernel.step(dice, z, target)
        dice = cast(Sampler, dice)  # the only dice that roll on a GPU
        parts = {field.name: getattr(target.weights, field.name) for field in fields(target.weights)}
        tensors = {name: part for name, part in parts.items() if isinstance(part, Tensor)}
        others = (part if isinstance(part, float) else id(part) for name, part in parts.items() if name not in tensors)
        key = (id(dice), target.gamma, *others)
        if key not in self._steps:
            if key != self._last:
                self._last = key
                return self.kernel.step(dice, z, target)
            while len(self._steps) >= TEMPERATURES_KEPT:
                self._steps.pop(next(iter(self._steps)))
            self._steps[key] = self._recorded(dice, target, list(tensors))
        try:
            # The next member of an ensemble may step before the gradient of this one is taken.
            after, info = self._steps[key](z, target.answers, *tensors.values())
            return after.clone(), replace(info, marginals=None if info.marginals is None else info.marginals.clone())
        except NotRecordable as error:  # a part of the user's own asks for values after all
            self._refused = True
            dice.renew(error.places[0])
            return self.kernel.step(dice, z, target)

    def static(self, target: Target[Any]) -> bool:
        return self.kernel.static(target)

    def _recorded(self, dice: Sampler, target: Target[Any], names: list[str]) -> Recorded:
        """The step as a function of its tensors; everything else about the target stays as it is."""

        def step(z: Tensor, answers: Tensor, *parts: Tensor) -> tuple[Tensor, Info]:
            weights = replace(target.weights, **dict(zip(names, parts, strict=True)))
            return self.kernel.step(dice, z, replace(target, weights=weights, answers=answers))

        return Recorded(step, lambda: dice.generator)
