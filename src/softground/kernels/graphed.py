"""A kernel whose steps a GPU plays back from a recording.

A step is many small operations, and a CPU takes longer to hand each of them to a GPU than the GPU takes to do it. CUDA
graphs record them once and hand them over as one. The operations, and so the law and the very draws, are the same; the
generator's place in its stream is part of the recording's input.

Only steps whose operations and shapes never depend on values can be recorded. A kernel says so by ``static(target)``;
all others, and CPUs, take their steps as usual.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from ..dice import Dice, Sampler
from ..target import Target
from .base import ChainState, Info, Kernel

WARM_UP = 2  # steps taken before the recording, so that tables and libraries are in place
MOST = 4  # recordings kept: whole batches and the last one of an epoch, at two temperatures


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
        self.refused = False  # whether a recording failed; steps are then taken as usual
        self._recordings: dict[Any, _Recording] = {}

    def init(self, z: Tensor) -> ChainState:
        return self.kernel.init(z)

    def step(self, dice: Dice, state: ChainState, target: Target[Any]) -> tuple[ChainState, Info]:
        """One transition of every chain; what it returns is overwritten by the next step."""
        recordable = state.z.is_cuda and isinstance(dice, Sampler) and not self.refused
        if not recordable or not is_static(self.kernel, target):
            return self.kernel.step(dice, state, target)
        assert isinstance(dice, Sampler)
        key = (id(dice), target.gamma, tuple(state.z.shape), _constants(target.weights))
        if key not in self._recordings:
            while len(self._recordings) >= MOST:
                self._recordings.pop(next(iter(self._recordings)))
            place = dice.state()
            try:
                self._recordings[key] = _Recording(self.kernel, dice, state, target)
            except RuntimeError as error:  # a part of the user's own may ask for values after all
                self.refused = True
                warnings.warn(f"Steps of {self.kernel!r} cannot be recorded ({error}); they run slower.", stacklevel=2)
                dice.renew(place)
                return self.kernel.step(dice, state, target)
            dice.restore(place)  # rehearsals leave no trace in the stream of draws
        return self._recordings[key].play(state, target)


def _constants(weights: Any) -> tuple[Any, ...]:
    """What a recording takes for granted of the weights: all but their numbers."""
    parts = [getattr(weights, field.name) for field in fields(weights)]
    return tuple((tuple(p.shape), p.dtype) if isinstance(p, Tensor) else p if isinstance(p, float) else id(p)
                 for p in parts)  # fmt: skip


@dataclass
class _Inputs:
    """Where a recording reads from: copies that stay in one place."""

    state: ChainState
    target: Target[Any]

    @classmethod
    def like(cls, state: ChainState, target: Target[Any]) -> _Inputs:
        weights = replace(target.weights, **{name: part.clone() for name, part in _tensors(target.weights).items()})
        return cls(ChainState(state.z.clone()), replace(target, weights=weights, answers=target.answers.clone()))

    def fill(self, state: ChainState, target: Target[Any]) -> None:
        self.state.z.copy_(state.z)
        self.target.answers.copy_(target.answers)
        mine, given = _tensors(self.target.weights), _tensors(target.weights)
        for name, part in mine.items():
            part.copy_(given[name])


class _Recording:
    def __init__(self, kernel: Kernel, dice: Sampler, state: ChainState, target: Target[Any]) -> None:
        self.inputs = _Inputs.like(state, target)
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                kernel.step(dice, self.inputs.state, self.inputs.target)
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        self.graph.register_generator_state(dice.generator)
        with torch.cuda.graph(self.graph):
            self.outputs = kernel.step(dice, self.inputs.state, self.inputs.target)

    def play(self, state: ChainState, target: Target[Any]) -> tuple[ChainState, Info]:
        self.inputs.fill(state, target)
        self.graph.replay()
        return self.outputs


def _tensors(weights: Any) -> dict[str, Tensor]:
    parts = {field.name: getattr(weights, field.name) for field in fields(weights)}
    return {name: part for name, part in parts.items() if isinstance(part, Tensor)}
