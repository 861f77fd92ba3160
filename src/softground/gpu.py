"""Functions of tensors, and kernel steps, that a GPU plays back from a recording.

Many small operations take a CPU longer to hand to a GPU than the GPU takes to do them. CUDA graphs record them once and
hand them over as one. A function can be recorded if its operations and shapes never depend on values; each shape of its
inputs gets a recording of its own. On a CPU, and where a recording fails, the function is simply called. The operations
are the same, and so are the draws.
"""

import warnings
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, cast

import torch
from torch import Tensor

from .dice import Dice, Sampler
from .kernels.base import Info, Kernel
from .target import Target

WARM_UP_CALLS = 2  # before the recording, so that tables and libraries are in place
SHAPES_KEPT = 4  # recordings of a function
TEMPERATURES_KEPT = 2  # recorded functions of a kernel


class Recorded:
    """``function(*tensors)``, recorded and played back on a GPU; its results are overwritten by the next call.

    The function gives anything made of tensors. Where it draws, it draws from the generator that ``generator()`` gives:
    its place in its stream is an input too.
    """

    def __init__(self, function: Callable[..., Any], generator: Callable[[], torch.Generator] | None = None) -> None:
        self.function, self.generator = function, generator
        self.refused = False  # a recording failed; the function is called as usual from then on
        self._recordings: dict[Any, _Recording] = {}

    def __call__(self, *inputs: Tensor) -> Any:
        if self.refused or not inputs[0].is_cuda:
            return self.function(*inputs)
        key = tuple((tuple(part.shape), part.dtype) for part in inputs)
        if key not in self._recordings:
            while len(self._recordings) >= SHAPES_KEPT:
                self._recordings.pop(next(iter(self._recordings)))
            generator = self.generator() if self.generator else None
            place = generator.get_state() if generator else None
            try:
                self._recordings[key] = _Recording(self.function, inputs, generator)
            except RuntimeError as error:
                self.refused = True
                warnings.warn(f"A GPU's work cannot be recorded, and runs slower: {error}", stacklevel=2)
                if place is not None:
                    raise NotRecordable(place) from error
                return self.function(*inputs)
            if generator is not None and place is not None:
                generator.set_state(place)  # rehearsals leave no trace in the stream of draws
        return self._recordings[key].play(inputs)


class NotRecordable(Exception):
    """A recording failed. ``place`` is where the generator stood; the generator itself cannot be used again."""

    def __init__(self, place: Tensor) -> None:
        super().__init__("a recording failed")
        self.place = place


class _Recording:
    def __init__(self, function: Callable[..., Any], inputs: tuple[Tensor, ...], generator: Any) -> None:
        self.inputs = [part.clone() for part in inputs]
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP_CALLS):
                function(*self.inputs)
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        if generator is not None:
            self.graph.register_generator_state(generator)
        with torch.cuda.graph(self.graph):
            self.outputs = function(*self.inputs)

    def play(self, inputs: tuple[Tensor, ...]) -> Any:
        for mine, given in zip(self.inputs, inputs, strict=True):
            mine.copy_(given)
        self.graph.replay()
        return self.outputs


class Graphed(Kernel):
    """The same kernel, its steps recorded and played back where it is ``static(target)`` and on a GPU."""

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
        parts = {field.name: getattr(target.weights, field.name) for field in fields(target.weights)}
        tensors = {name: part for name, part in parts.items() if isinstance(part, Tensor)}
        others = (part if isinstance(part, float) else id(part) for name, part in parts.items() if name not in tensors)
        key = (id(dice), target.gamma, *others)
        if key not in self._steps:
            while len(self._steps) >= TEMPERATURES_KEPT:
                self._steps.pop(next(iter(self._steps)))
            self._steps[key] = self._recorded(dice, target, list(tensors))
        try:
            result: tuple[Tensor, Info] = self._steps[key](z, target.answers, *tensors.values())
            return result
        except NotRecordable as error:  # a part of the user's own asks for values after all
            self._refused = True
            dice.renew(error.place)
            return self.kernel.step(dice, z, target)

    def static(self, target: Target[Any]) -> bool:
        return self.kernel.static(target)

    def _recorded(self, dice: Sampler, target: Target[Any], names: list[str]) -> Recorded:
        """The step as a function of its tensors; everything else about the target stays as it is."""

        def step(z: Tensor, answers: Tensor, *parts: Tensor) -> tuple[Tensor, Info]:
            weights = replace(target.weights, **dict(zip(names, parts, strict=True)))
            return self.kernel.step(dice, z, replace(target, weights=weights, answers=answers))

        return Recorded(step, lambda: dice.generator)
