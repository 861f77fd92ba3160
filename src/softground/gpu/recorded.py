"""Functions of tensors that a GPU plays back from a recording.

Many small operations take a CPU longer to hand to a GPU than the GPU takes to do them. CUDA graphs record them once and
hand them over as one. A function can be recorded if its operations and shapes never depend on values; each shape of its
inputs gets a recording of its own. On a CPU, and where a recording fails, the function is simply called. The operations
are the same, and so are the draws.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor

WARM_UP_CALLS = 2  # before the recording, so that tables and libraries are in place
SHAPES_KEPT = 4  # recordings of a function

# Whether a recording is being made, in this thread, and what it calls is part of it.
_at_work: ContextVar[bool] = ContextVar("at work", default=False)


class NotRecordable(Exception):
    """A recording failed. ``places`` are where the generators stood; the generators cannot be used again."""

    def __init__(self, places: Sequence[Tensor]) -> None:
        super().__init__("a recording failed")
        self.places = places


def recordable(*inputs: Any) -> bool:
    """Whether a function of these inputs may be recorded: they are on a GPU, and no recording is being made."""
    return not _at_work.get() and all(isinstance(part, Tensor) and part.is_cuda for part in inputs)


@contextmanager
def inline() -> Iterator[None]:
    """What could be recorded is simply called here, because it is part of something larger."""
    before = _at_work.set(True)
    try:
        yield
    finally:
        _at_work.reset(before)


@contextmanager
def recording(generators: Sequence[torch.Generator] = (), memory: Iterable[Tensor] = ()) -> Iterator[None]:
    """Rehearse and record here; neither leaves a trace in the streams of draws, or in the tensors of ``memory``.

    Raises :class:`NotRecordable` where it fails.
    """
    kept = [(part, part.clone()) for part in memory]
    everyone = torch.cuda.get_rng_state()  # a network's layers may draw from torch's own generator
    places = [generator.get_state() for generator in generators]
    try:
        with inline():
            yield
    except RuntimeError as error:
        warnings.warn(f"A GPU's work cannot be recorded, and runs slower: {error}", stacklevel=4)
        raise NotRecordable(places) from error
    finally:
        for part, before in kept:
            part.copy_(before)
    torch.cuda.set_rng_state(everyone)
    for generator, place in zip(generators, places, strict=True):
        generator.set_state(place)


def rehearsed(function: Callable[[], Any]) -> None:
    """Call the function a few times, as a recording asks for: beside the stream on which all else runs."""
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP_CALLS):
            function()
    torch.cuda.current_stream().wait_stream(stream)


def taken(
    function: Callable[[], Any], generators: Sequence[torch.Generator] = (), pool: Any = None
) -> tuple[torch.cuda.CUDAGraph, Any]:
    """A recording of the function, and what it gave, which every replay overwrites."""
    graph = torch.cuda.CUDAGraph()
    for generator in generators:
        graph.register_generator_state(generator)
    with torch.cuda.graph(graph, pool=pool):
        outputs = function()
    return graph, outputs


class Recorded:
    """``function(*tensors)``, recorded and played back on a GPU; its results are overwritten by the next call.

    The function gives anything made of tensors. Where it draws, it draws from the generator that ``generator()`` gives:
    its place in its stream is an input too. What it changes besides is in the tensors that ``memory()`` gives.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        generator: Callable[[], torch.Generator] | None = None,
        memory: Callable[[], Iterable[Tensor]] = tuple,
    ) -> None:
        self.function, self.generator, self.memory = function, generator, memory
        self.refused = False  # a recording failed; the function is called as usual from then on
        self._recordings: dict[Any, _Recording] = {}

    def __call__(self, *inputs: Tensor) -> Any:
        if self.refused or not recordable(*inputs):
            return self.function(*inputs)
        key = tuple((tuple(part.shape), part.dtype) for part in inputs)
        if key not in self._recordings:
            while len(self._recordings) >= SHAPES_KEPT:
                self._recordings.pop(next(iter(self._recordings)))
            generators = [self.generator()] if self.generator else []
            try:
                with recording(generators, self.memory()):
                    self._recordings[key] = _Recording(self.function, inputs, generators)
            except NotRecordable:
                self.refused = True
                if generators:
                    raise
                return self.function(*inputs)
        return self._recordings[key].play(inputs)


class _Recording:
    def __init__(self, function: Callable[..., Any], inputs: tuple[Tensor, ...], generators: Any) -> None:
        self.inputs = [part.clone() for part in inputs]
        rehearsed(lambda: function(*self.inputs))
        self.graph, self.outputs = taken(lambda: function(*self.inputs), generators)

    def play(self, inputs: tuple[Tensor, ...]) -> Any:
        for mine, given in zip(self.inputs, inputs, strict=True):
            mine.copy_(given)
        self.graph.replay()
        return self.outputs
