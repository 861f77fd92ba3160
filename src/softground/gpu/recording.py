"""Functions of tensors that a GPU plays back from a recording.

Many small operations take a CPU longer to hand to a GPU than the GPU takes to do them. CUDA graphs record them once and
hand them over as one. A function can be recorded if its operations and shapes never depend on values; each shape of its
inputs gets a recording of its own. On a CPU, and where a recording fails, the function is simply called.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

WARM_UP = 2  # calls before the recording, so that tables and libraries are in place
MOST = 4  # recordings kept


class Recorded:
    """``function(*tensors)``, recorded and played back on a GPU; its results are overwritten by the next call.

    Parameters
    ----------
    function
        From tensors to anything made of tensors. Where it draws, it draws from ``generator``.
    generator
        Gives the generator that the function draws from, if any: its place in its stream is an input too.
    """

    def __init__(self, function: Callable[..., Any], generator: Callable[[], torch.Generator] | None = None) -> None:
        self.function = function
        self.generator = generator
        self.refused = ""  # why a recording failed; the function is called as usual from then on
        self._recordings: dict[Any, _Recording] = {}

    def __call__(self, *inputs: Tensor) -> Any:
        if self.refused or not inputs[0].is_cuda:
            return self.function(*inputs)
        key = tuple((tuple(part.shape), part.dtype) for part in inputs)
        if key not in self._recordings:
            while len(self._recordings) >= MOST:
                self._recordings.pop(next(iter(self._recordings)))
            generator = self.generator() if self.generator else None
            place = generator.get_state() if generator else None
            try:
                self._recordings[key] = _Recording(self.function, inputs, generator)
            except RuntimeError as error:
                self.refused = str(error)
                warnings.warn(f"A GPU's work cannot be recorded, and runs slower: {error}", stacklevel=2)
                raise NotRecordable(place) from error
            if generator is not None and place is not None:
                generator.set_state(place)  # rehearsals leave no trace in the stream of draws
        return self._recordings[key].play(inputs)


class NotRecordable(Exception):
    """A recording failed. ``place`` is where the generator stood; the generator itself is of no further use."""

    def __init__(self, place: Tensor | None) -> None:
        super().__init__("a recording failed")
        self.place = place


class _Recording:
    def __init__(self, function: Callable[..., Any], inputs: tuple[Tensor, ...], generator: Any) -> None:
        self.inputs = [part.clone() for part in inputs]
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
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
