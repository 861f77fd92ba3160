"""A kernel whose steps a GPU plays back from a recording (:mod:`softground.gpu.recording`).

The operations, and so the law and the very draws, are the same. Only steps whose operations and shapes never depend on
values can be recorded. A kernel says so by ``static(target)``; all others, and CPUs, take their steps as usual.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from ..dice import Dice, Sampler
from ..kernels.base import ChainState, Info, Kernel
from ..target import Target
from .recording import NotRecordable, Recorded

MOST = 2  # temperatures whose recordings are kept


@runtime_checkable
class StaticKernel(Protocol):
    """A kernel that knows when its steps can be recorded."""

    def static(self, target: Target[Any]) -> bool:
        """Whether a step at this target never asks for a value in the midst of its work."""


def is_static(kernel: Kernel, target: Target[Any]) -> bool:
    """Whether a kernel's step can be recorded; one that does not say cannot."""
    return isinstance(kernel, StaticKernel) and kernel.static(target)


class Graphed:
    """The same kernel, its steps recorded and played back where that is possible."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._refused = False
        self._steps: dict[Any, Recorded] = {}

    def init(self, z: Tensor) -> ChainState:
        return self.kernel.init(z)

    def step(self, dice: Dice, state: ChainState, target: Target[Any]) -> tuple[ChainState, Info]:
        """One transition of every chain; what it returns is overwritten by the next step."""
        recordable = state.z.is_cuda and isinstance(dice, Sampler) and not self._refused
        if not recordable or not is_static(self.kernel, target):
            return self.kernel.step(dice, state, target)
        assert isinstance(dice, Sampler)
        names, constants = _parts(target.weights)
        key = (id(dice), target.gamma, constants)
        if key not in self._steps:
            while len(self._steps) >= MOST:
                self._steps.pop(next(iter(self._steps)))
            self._steps[key] = self._recorded(dice, target, names)
        try:
            result: tuple[ChainState, Info] = self._steps[key](
                state.z, target.answers, *(getattr(target.weights, name) for name in names)
            )
            return result
        except NotRecordable as error:  # a part of the user's own asks for values after all
            self._refused = True
            if error.place is not None:
                dice.renew(error.place)
            return self.kernel.step(dice, state, target)

    def _recorded(self, dice: Sampler, target: Target[Any], names: list[str]) -> Recorded:
        """The step as a function of its tensors; everything else about the target is taken for granted."""

        def step(z: Tensor, answers: Tensor, *parts: Tensor) -> tuple[ChainState, Info]:
            weights = replace(target.weights, **dict(zip(names, parts, strict=True)))
            return self.kernel.step(dice, ChainState(z), replace(target, weights=weights, answers=answers))

        return Recorded(step, lambda: dice.generator)


def _parts(weights: Any) -> tuple[list[str], tuple[Any, ...]]:
    """The names of the weights' tensors, and what is known of the other parts."""
    parts = {field.name: getattr(weights, field.name) for field in fields(weights)}
    names = [name for name, part in parts.items() if isinstance(part, Tensor)]
    return names, tuple(p if isinstance(p, float) else id(p) for p in parts.values() if not isinstance(p, Tensor))
