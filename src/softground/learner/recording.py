r"""GPU recordings (CUDA graphs) of functions of tensors, a network's passes, and the second half of a step.

Many small operations take a CPU longer to hand to a GPU than the GPU takes to do them. CUDA graphs record them once and
hand them over as one. A function can be recorded if its operations and shapes never depend on values; each shape of its
inputs gets a recording of its own. On a CPU, and where a recording fails, the function is simply called. The operations
are the same, and so are the draws.

**Rehearsals.** An operation that returns a value to Python, or whose result's length depends on values, makes the CPU
wait for the GPU and cannot be recorded. A rehearsal does the work once and refuses those operations, on any device, so
a CPU can determine what a GPU could record.

**Passes.** Forward, a recording gives the output f_θ(x); backward, another one takes the slope ∂ℓ/∂f and leaves ∂ℓ/∂θ
where an optimiser looks for it. The loss in between sees an ordinary function on the tape. A recording would freeze a
network's decisions in Python, such as skipped layers, so only networks of known layers are recorded.

**The second half of a step.** A recording begins at the network's output f and ends at the loss ℓ and its slope ∂ℓ/∂f,
from which the network's own backward pass continues. Numbers from Python, such as γ, are part of a recording; other
numbers need another one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm
from torch.utils._python_dispatch import TorchDispatchMode

from ..dice import Sampler
from ..files import Json
from ..training.step import Batch, Half, Teacher, Term, untimed

KEPT = 4  # recordings for different numbers and parts of the data
PATIENCE = 3  # batches with the same numbers before these are worth a recording
ASKING = {"_local_scalar_dense", "nonzero", "masked_select", "_unique", "_unique2", "unique_dim", "equal", "is_nonzero"}
ASKING |= {"unique_consecutive", "unique_dim_consecutive", "repeat_interleave", "bincount", "histc", "nonzero_numpy"}
INDEXING = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"}
WARM_UP_CALLS = 2  # before the recording, so that tables and libraries are in place
SHAPES_KEPT = 4  # recordings of a function, and those of a network: batches, and last batches, of several lengths
PASSES_KEPT = 16

# Whether a recording is being made, in this thread, and what it calls is part of it.
_at_work: ContextVar[bool] = ContextVar("at work", default=False)


class NotRecordable(Exception):
    """A recording failed. ``places`` are where the generators stood; the generators cannot be used again."""

    def __init__(self, places: Sequence[Tensor]) -> None:
        super().__init__("a recording failed")
        self.places = places


def recordable(*inputs: object) -> bool:
    """Whether a function of these inputs may be recorded: they are on a GPU, and no other recording runs."""
    return not _at_work.get() and all(isinstance(part, Tensor) and part.is_cuda for part in inputs)


@contextmanager
def inline() -> Iterator[None]:
    """Call functions without recording them, because they are part of a larger recording."""
    before = _at_work.set(True)
    try:
        yield
    finally:
        _at_work.reset(before)


@contextmanager
def recording(generators: Sequence[torch.Generator] = (), memory: Iterable[Tensor] = ()) -> Iterator[None]:
    """Rehearse and record without changing the random streams or the tensors of ``memory``.

    Raises :class:`NotRecordable` on failure.
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


def rehearsed(function: Callable[[], object]) -> None:
    """Call the function a few times on a separate stream, as a recording requires."""
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP_CALLS):
            function()
    torch.cuda.current_stream().wait_stream(stream)


def taken(
    function: Callable[[], Any], generators: Sequence[torch.Generator] = (), pool: Any = None
) -> tuple[torch.cuda.CUDAGraph, Any]:
    """Record the function; return the recording and its result, which every replay overwrites."""
    graph = torch.cuda.CUDAGraph()
    for generator in generators:
        graph.register_generator_state(generator)
    with torch.cuda.graph(graph, pool=pool):
        outputs = function()
    return graph, outputs


class Recorded:
    """``function(*tensors)``, recorded and played back on a GPU; its results are overwritten by the next call.

    The function returns any structure of tensors. It draws only from the generator that ``generator()`` returns, and
    changes only the tensors that ``memory()`` returns.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        generator: Callable[[], torch.Generator] | None = None,
        memory: Callable[[], Iterable[Tensor]] = tuple,
    ) -> None:
        self.function, self.generator, self.memory = function, generator, memory
        self.refused = False  # a recording failed; the function is called as usual from then on
        self._recordings: dict[object, _Graph] = {}

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
                    self._recordings[key] = _Graph(self.function, inputs, generators)
            except NotRecordable:
                self.refused = True
                if generators:
                    raise
                return self.function(*inputs)
        return self._recordings[key].play(inputs)


class _Graph:
    def __init__(
        self, function: Callable[..., Any], inputs: tuple[Tensor, ...], generators: Sequence[torch.Generator]
    ) -> None:
        self.inputs = [part.clone() for part in inputs]
        rehearsed(lambda: function(*self.inputs))
        self.graph, self.outputs = taken(lambda: function(*self.inputs), generators)

    def play(self, inputs: tuple[Tensor, ...]) -> Any:
        for mine, given in zip(self.inputs, inputs, strict=True):
            mine.copy_(given)
        self.graph.replay()
        return self.outputs


class AsksDevice(RuntimeError):  # no error of a user's
    """An operation gives values to Python, or a result whose length depends on values."""


class NothingAsked(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While active, refuse every operation that would make a CPU wait for a GPU."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if (name in ASKING and not _of_known_length(name, args, kwargs)) or (name in INDEXING and _by_mask(args[1])):
            raise AsksDevice(f"The operation {name} asks the device for values.")
        return func(*args, **(kwargs or {}))


def _of_known_length(name: str, args: Sequence[object], kwargs: Any) -> bool:
    return name == "repeat_interleave" and (kwargs or {}).get("output_size") is not None


def _by_mask(indices: Sequence[object]) -> bool:
    return any(isinstance(each, Tensor) and each.dtype in (torch.bool, torch.uint8) for each in indices)


def asks_nothing(work: Callable[[], object]) -> bool:
    """Do some work; return whether it finished without reading a value from the device."""
    try:
        with NothingAsked():  # type: ignore[no-untyped-call]
            work()
    except AsksDevice:
        return False
    return True


class Passes:
    """``function(x)``, which calls the ``network``, with its two passes recorded on a GPU.

    It draws from ``generators()``. The next backward pass overwrites the gradients, so they cannot be added up over
    batches. ``norm`` is the norm of the last gradient.
    """

    def __init__(
        self, function: Callable[[Tensor], Tensor], network: nn.Module, generators: Callable[[], list[torch.Generator]]
    ) -> None:
        self.function, self.network, self.generators = function, network, generators
        self._recordings: dict[object, _TwoGraphs] = {}
        self.norm: Tensor | None = None
        self._pool: Any = None  # recordings are played one after the other, and can share their memory

    def __call__(self, x: Tensor) -> Tensor:
        """Return the output, attached to the tape; raises ``NotRecordable`` if recording fails."""
        if not recordable(x):
            self.norm = None
            return self.function(x)
        key = tuple(x.shape), x.dtype
        if key not in self._recordings:
            while len(self._recordings) >= PASSES_KEPT:
                self._recordings.pop(next(iter(self._recordings)))
            generators = self.generators()
            self._pool = self._pool or torch.cuda.graph_pool_handle()
            with recording(generators, self.network.buffers()):
                weights = [weight for weight in self.network.parameters() if weight.requires_grad]
                self._recordings[key] = _TwoGraphs(self.function, x, weights, generators, self._pool)
        played = self._recordings[key]
        self.norm = played.norm
        output: Tensor = _PlayedPasses.apply(played, x, *played.weights)  # type: ignore[no-untyped-call]
        return output


class _TwoGraphs:
    def __init__(
        self,
        function: Callable[[Tensor], Tensor],
        x: Tensor,
        weights: Sequence[Tensor],
        generators: Sequence[torch.Generator],
        pool: object,
    ) -> None:
        self.x, self.weights = x.clone(), weights

        def back(output: Tensor, slope: Tensor) -> tuple[Tensor, tuple[Tensor | None, ...]]:
            found = torch.autograd.grad(output, weights, slope, allow_unused=True)
            gradients = tuple(None if g is None else _stored_like(w, g) for w, g in zip(weights, found, strict=True))
            return get_total_norm([g for g in gradients if g is not None]), gradients

        def both() -> None:
            output = function(self.x)
            back(output, torch.ones_like(output))

        rehearsed(both)
        self.forward, self.output = taken(lambda: function(self.x), generators, pool)
        self.slope = torch.zeros_like(self.output)
        self.backward, (self.norm, self.gradients) = taken(lambda: back(self.output, self.slope), (), pool)


def _stored_like(weight: Tensor, gradient: Tensor) -> Tensor:
    """Store a gradient in its weight's memory order, for fused optimisers; a sum's gradient is one expanded number."""
    return gradient if gradient.stride() == weight.stride() else torch.empty_like(weight).copy_(gradient)


class _PlayedPasses(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, played: _TwoGraphs, x: Tensor, *weights: Tensor) -> Tensor:
        context.played = played
        played.x.copy_(x)
        played.forward.replay()
        output: Tensor = played.output.detach().clone()  # the next batch overwrites it
        return output

    @staticmethod
    def backward(context: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        played = context.played
        played.slope.copy_(slopes[0])
        played.backward.replay()
        for weight, gradient in zip(played.weights, played.gradients, strict=True):
            weight.grad = gradient
        return None, None, *[None] * len(played.weights)


class RecordedHalf:
    """A ``half`` of the step, played back if possible and otherwise called.

    It draws from ``dice`` and changes the batch's memory in place.
    """

    def __init__(self, half: Half, dice: Sampler) -> None:
        self.half, self.dice = half, dice
        self.pending = 0  # batches with the newest numbers
        self._last: object = None  # the last batch's numbers; ones that change every time are not recorded
        self._recorded: dict[object, _RecordedLesson | None] = {}  # None if the work reads values from the device

    def __call__(self, batch: Batch, teacher: Teacher, terms: Sequence[Term]) -> Tensor:
        if not recordable(batch.output):
            return self.half(batch, teacher, terms)
        parts: list[Teacher | Term] = [teacher, *terms]
        numbers = [tuple(each.numbers(batch.moment).items()) for each in parts]
        key = (id(batch.task), batch.moment.stage, *numbers)
        before, self._last = self._last, key
        self.pending = self.pending + 1 if key == before else 0
        if key not in self._recorded and self.pending >= PATIENCE:
            while len(self._recorded) >= KEPT:
                self._recorded.pop(next(iter(self._recorded)))
            able = self._rehearsed(batch, teacher, terms)
            self._recorded[key] = _RecordedLesson(self, teacher, terms) if able else None
        played = self._recorded.get(key)
        if played is None:
            return self.half(batch, teacher, terms)
        try:
            return played(batch)
        except NotRecordable as error:
            self._recorded[key] = None
            self.dice.renew(error.places[0])
            return self.half(batch, teacher, terms)

    def _rehearsed(self, batch: Batch, teacher: Teacher, terms: Sequence[Term]) -> bool:
        """Whether the batch's work reads no value from the device. Memory and dice are restored."""
        place = self.dice.generator.get_state()
        leaf = batch.output.detach().requires_grad_()
        memory = {name: rows.clone() for name, rows in batch.memory.items()}
        tried = replace(batch, output=leaf, memory=memory, losses=[], figures={}, lap=untimed)
        able = asks_nothing(lambda: torch.autograd.grad(self.half(tried, teacher, terms), leaf))
        self.dice.generator.set_state(place)
        return able


class _RecordedLesson:
    """The recordings of one half of a step, for batches of several lengths."""

    def __init__(self, of: RecordedHalf, teacher: Teacher, terms: Sequence[Term]) -> None:
        self.of, self.teacher, self.terms = of, teacher, terms
        self.names: dict[int, list[tuple[str, int]]] = {}  # of the figures, by the length of a batch
        self._batch: Batch | None = None

    def __call__(self, batch: Batch) -> Tensor:
        self._batch = batch
        if not hasattr(self, "recorded"):
            memory = [*batch.memory.values()]
            self.recorded = Recorded(self._work, lambda: self.of.dice.generator, lambda: memory)
        loss, slope, read, numbers = self.recorded(*_tensors(batch))
        names, batch.read = self.names[len(batch.index)], read.clone()
        parts = numbers.clone().split([length for _, length in names])  # the next batch overwrites them
        batch.figures |= {name: part for (name, _), part in zip(names, parts, strict=True)}
        played: Tensor = _PlayedHalf.apply(batch.output, loss.clone(), slope.clone())  # type: ignore[no-untyped-call]
        return played

    def _work(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        assert self._batch is not None
        batch = _with_tensors(self._batch, tensors)
        with torch.enable_grad():
            leaf = batch.output = batch.output.detach().requires_grad_()
            loss = self.of.half(batch, self.teacher, self.terms)
            (slope,) = torch.autograd.grad(loss, leaf)
        self.names[len(batch.index)] = [(name, len(value)) for name, value in batch.figures.items()]
        return loss.detach(), slope, batch.read, torch.cat([value.float() for value in batch.figures.values()])


def _tensors(batch: Batch) -> list[Tensor]:
    """The tensors that differ between batches."""
    given = [batch.output, batch.index, batch.answers, batch.known, batch.symbols]
    return [*(each for each in given if each is not None), *(codes for _, codes in batch.added.values())]


def _with_tensors(batch: Batch, tensors: Sequence[Tensor]) -> Batch:
    """The batch with other :func:`_tensors`."""
    rest = iter(tensors)
    names = [name for name in ("output", "index", "answers", "known", "symbols") if getattr(batch, name) is not None]
    found: Json = {name: next(rest) for name in names}
    added = {term: (rows, next(rest)) for term, (rows, _) in batch.added.items()}
    return replace(batch, **found, added=added, losses=[], figures={}, lap=untimed)


class _PlayedHalf(torch.autograd.Function):
    """A loss whose slope is known already."""

    @staticmethod
    def forward(context: Any, output: Tensor, loss: Tensor, slope: Tensor) -> Tensor:
        context.save_for_backward(slope)
        return loss

    @staticmethod
    def backward(context: Any, *slopes: Tensor) -> tuple[Tensor, None, None]:
        (slope,) = context.saved_tensors
        return slope * slopes[0], None, None
