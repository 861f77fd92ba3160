"""Access to data sets: by batches of positions, and in parts, one for each shape of the examples.

A task alone is a family with one part, whose shape has no name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset, default_collate

from ..data.anchors import Anchors
from ..data.columns import column_of, listed
from ..data.examples import Examples, Ragged
from ..data.gathered import Gathered
from ..data.inputs import Inputs
from ..data.known import known_codes
from ..errors import ConstraintError, DataError, LearnerError
from ..figures import flat_names
from ..files import Json
from ..spaces.base import Space
from ..spaces.categorical import Categorical
from ..task import Family, Shape, Task

EMPTY = "The data set is empty; give at least one (x, y) pair."
Data = Dataset[Any] | Mapping[Any, Dataset[Any]]
SHOWN = 5  # positions in a message
# What the names of other figures and entries of a summary begin with.
TAKEN = {"after", "before", "constrained", "grammatical", "plain", "relabelled", "shape", "solver"}
TAKEN |= {"test", "train", "validation"}


class Batches:
    """Access to a map-style data set of ``(x, y)`` by batches of positions.

    :class:`~softground.data.Examples`, ``TensorDataset`` and subsets of them are moved to the device once and indexed
    there. Any other data set is read item by item through a ``DataLoader``, so that its own transforms run every time.
    Random transforms use torch's global generator, which the run seeds and its checkpoints hold. If such a data set has
    an attribute ``answers``, a sequence of every y, answers are read without their inputs.

    ``positions`` are the examples' places in a larger data set, for error messages. Only the examples in ``rows`` are
    held or read, such as every fourth one by each of four processes; they are numbered from 0.
    """

    def __init__(
        self,
        data: Dataset[Any],
        device: torch.device,
        workers: int = 0,
        positions: Tensor | None = None,
        rows: range | None = None,
    ) -> None:
        self.device, self.workers, self._data = device, workers, data
        try:
            self.total = len(data)  # type: ignore[arg-type]
        except TypeError:
            raise DataError(f"A {type(data).__name__} has no length; give a map-style data set of (x, y).") from None
        if not hasattr(data, "__getitem__"):  # a DataLoader, say
            raise DataError(f"A {type(data).__name__} cannot be indexed; give the data set itself, of pairs (x, y).")
        if self.total == 0:
            raise DataError(EMPTY)
        self.rows = range(self.total) if rows is None else rows
        self.count = len(self.rows)
        if positions is not None:
            positions = self._own(positions)
        elif self.count < self.total:
            positions = torch.arange(self.rows.start, self.rows.stop, self.rows.step)
        self.positions = None if positions is None else positions.to(device)
        self.symbols: Tensor | None = None
        self.known: Tensor | None = None  # codes of known symbols, after check()
        self.anchors: Anchors | None = None  # labelled inputs beside the examples
        self.inputs: Tensor | Gathered | None = None  # if they are held on the device
        self.shape: tuple[int, ...] | None = None  # of one input, and its type, once one has been seen
        self.dtype: torch.dtype | None = None
        self.seen: Inputs | None = None  # their figures
        self.like: Callable[[], Inputs | None] | None = None  # the training inputs' figures, until they are compared
        self.turn: Callable[[Tensor], Tensor] | None = None  # converts these inputs to that form
        held = _held(data)
        if held is not None:
            held = held if self.count == self.total else held.rows(self.rows)
            self.inputs, self.answers = held.x.to(device), list(held.y)
            self._note(self.inputs)
            self.symbols = None if held.symbols is None else held.symbols.to(device)
            self._known = held.known
        else:
            answers, symbols = column_of(data, "answers"), column_of(data, "symbols")
            if answers is not None and len(answers) != self.total:
                given = f"{self.total} examples and {len(answers)} answers"
                raise DataError(f"The data set has {given}; give one for each, in their order.")
            self.answers = (
                [self.pair(i)[1] for i in range(self.count)] if answers is None else self._own(listed(answers))
            )
            self.symbols = self._own(symbols).to(device) if isinstance(symbols, Tensor) else None
            self._known = self._own(column_of(data, "known"))

    def __len__(self) -> int:
        return self.count

    def _own(self, column: Any) -> Any:
        """The rows of a column in this process."""
        whole = column is None or self.count == self.total
        return column if whole else column[self.rows.start : self.rows.stop : self.rows.step]

    def first(self, count: int) -> Batches:
        """The first examples of the whole data set, in any process."""
        return Batches(self._data, self.device, rows=range(min(count, self.total)))

    def at(self, index: Tensor) -> Tensor:
        """Where these examples stand in the whole data set."""
        return index if self.positions is None else self.positions[index.to(self.device)]

    def place(self, row: int) -> int:
        """The position of one row in the whole data set."""
        return row if self.positions is None else int(self.positions[row])

    def check(self, space: Space) -> None:
        """Refuse known symbols, anchors and true symbols that do not fit."""
        if self._known is not None:
            self.known = known_codes(self._known, space, self.count, self.place).to(self.device)
        if self.anchors is not None:
            self.anchors.codes(space)
            if self.shape is not None and self.dtype is not None:
                self.anchors.fit(space, self.shape, self.dtype)
        self._check_true(space)

    def _check_true(self, space: Space) -> None:
        if self.symbols is None or not isinstance(space, Categorical):
            return
        expected = (self.count, space.sites)
        if tuple(self.symbols.shape) != expected or self.symbols.is_floating_point():
            raise DataError(
                f"The true symbols are {self.symbols.dtype} of shape {tuple(self.symbols.shape)}; expected codes, "
                f"whole numbers of shape {expected}. Make them with space.encode, or leave them out."
            )
        outside = ((self.symbols < 0) | (self.symbols >= space.layout(self.device).sizes)).any(1).nonzero().flatten()
        if len(outside):
            row = int(outside[0])
            raise DataError(
                f"Example {self.place(row)} has true symbols {self.symbols[row].tolist()}; expected codes from 0 to "
                f"below {list(space.sizes)}, the sizes of the sites' alphabets. Make them with space.encode."
            )
        wrong = None if self.known is None else ((self.known >= 0) & (self.known != self.symbols)).nonzero().tolist()
        if wrong:
            row, site = wrong[0]
            raise DataError(
                f"Example {self.place(row)} has another symbol at site {site} as known than as its true one (codes "
                f"{int(self.known[row, site])} and {int(self.symbols[row, site])}). Correct one of them."  # type: ignore[index]
            )

    def pair(self, index: int) -> tuple[Any, Any]:
        """Read one pair (x, y)."""
        item = self._data[self.rows[index]]
        if not isinstance(item, tuple | list) or len(item) != 2:
            given = f"{type(item).__name__} of {len(item)}" if isinstance(item, tuple | list) else type(item).__name__
            raise DataError(
                f"Item {self.place(index)} of the data set is a {given}; expected a pair (x, y). Give inputs and "
                "answers as one data set: Examples(x, y)."
            )
        return item[0], item[1]

    def walk(self, positions: list[Tensor]) -> Iterator[tuple[Tensor, Any]]:
        """Yield ``(positions, x)`` for each list of positions, both on the device."""
        if self.inputs is not None:
            for index in positions:
                there = index.to(self.device)
                held = self.inputs
                x = held.batch(there) if isinstance(held, Gathered) else held[there]
                yield there, x if self.turn is None or isinstance(x, Gathered) else self.turn(x)
            return
        loader: DataLoader[Any] = DataLoader(
            _Inputs(self), batch_sampler=[p.tolist() for p in positions], num_workers=self.workers, collate_fn=_collate
        )
        for index, x in zip(positions, loader, strict=True):
            self._note(x)
            x = _to(x, self.device)
            yield index.to(self.device), x if self.turn is None else self.turn(x)

    def _note(self, x: object) -> None:
        if isinstance(x, Tensor | Gathered):
            self.shape, self.dtype = tuple(x.shape[1:]), x.dtype
            if self.seen is None:
                self.seen = Inputs.of(x)
            if self.like is not None and (like := self.like()) is not None:
                self.like, self.turn = None, like.reading(x, self.reader)
                if isinstance(x, Gathered) and self.turn is not None:
                    self.inputs = Gathered(self.turn(x.pool), x.index)

    def read_like(self, network: nn.Module, like: Callable[[], Inputs | None]) -> None:
        """Convert inputs to the form of the training inputs; inputs that are not held are checked when read."""
        self.reader, self.like = network, like
        self._note(self.inputs)

    def in_order(self, size: int) -> list[Tensor]:
        """All positions in order, cut into batches."""
        return list(torch.split(torch.arange(self.count), size))


def _held(data: Dataset[Any]) -> Examples | None:
    """Return the data set as :class:`Examples` if it consists of tensors and is no subclass."""
    if type(data) is Subset:
        whole = _held(data.dataset)
        if whole is None:
            return None
        return whole.rows(data.indices)
    if isinstance(data, Examples) and type(data).__getitem__ is Examples.__getitem__:
        return data if isinstance(data.x, Tensor | Gathered) else None
    if type(data) is TensorDataset and len(data.tensors) == 2:
        return Examples(data.tensors[0], data.tensors[1].tolist())
    return None


class _Inputs(Dataset[Any]):
    def __init__(self, batches: Batches) -> None:
        self._batches = batches

    def __getitem__(self, index: int) -> tuple[int, Any]:
        return self._batches.place(index), self._batches.pair(index)[0]


def _collate(items: list[tuple[int, Any]]) -> Any:
    try:
        inputs = [torch.as_tensor(x) if not isinstance(x, dict | list | tuple) else x for _, x in items]
        return default_collate(inputs)
    except (RuntimeError, TypeError, ValueError, KeyError) as error:
        shown = ", ".join(f"example {i}: {_shape(x)}" for i, x in items[:8]) + (" …" if len(items) > 8 else "")
        raise DataError(
            f"These inputs cannot be stacked into a batch: {shown}. Give tensors or arrays of one shape; resize images."
        ) from error


def _shape(x: object) -> str:
    shape = getattr(x, "shape", None)
    return type(x).__name__ if shape is None else f"shape {tuple(shape)}"


def _to(x: Any, device: torch.device) -> Any:
    if isinstance(x, dict):
        return {k: _to(v, device) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return [_to(v, device) for v in x]
    return x.to(device)


def length(x: Any) -> int:
    """The number of examples in a batch of inputs."""
    while isinstance(x, dict | list | tuple):
        x = next(iter(x.values() if isinstance(x, dict) else x))
    return len(x)


class Part:
    """The examples of one shape, and the task that they belong to."""

    task: Task

    def __init__(self, shape: Shape, task: Task | None, data: Batches, space: Any = None) -> None:
        self.shape, self.data, self.space = shape, data, space or task.space  # type: ignore[union-attr]
        self.task = task  # type: ignore[assignment]  # only a model whose rule could not be saved has none

    @cached_property
    def y(self) -> Tensor:
        """The encoded answers."""
        return self.encode(self.data.answers)

    def encode(self, answers: Sequence[object]) -> Tensor:
        """Encode answers of these examples; an error names the position in the whole data set."""
        try:
            return self.task.constraint.encode(answers).to(self.data.device)
        except ConstraintError as error:  # it counts from the first of these answers
            if error.example is not None:
                error.example = self.data.place(error.example)
            raise

    @property
    def places(self) -> list[int]:
        """Where these examples stand in the whole data set."""
        return self.data.at(torch.arange(len(self.data))).tolist()


def tasks_of(task: Task | Family) -> dict[Shape, Task]:
    """The tasks by shape."""
    return {None: task} if isinstance(task, Task) else task.tasks


def spaces_of(task: Task | Family) -> Any:
    """The space of a task, or those of a family by shape."""
    if not isinstance(task, Task | Family):
        raise LearnerError.of({"task": task}, "expected a Task(space, rule), or a Family of such tasks.")
    return task.space if isinstance(task, Task) else {shape: each.space for shape, each in task.tasks.items()}


def inputs_of(parts: list[Part]) -> tuple[Any, torch.dtype | None]:
    """The shape (for a family, by shape) and type of one input, once one has been read."""
    shapes = {part.shape: part.data.shape for part in parts}
    return shapes.get(None) if None in shapes else shapes, parts[0].data.dtype


def seen_in(parts: list[Part]) -> Any:
    """The figures of a data set's inputs; for a family by shape."""
    seen = {part.shape: part.data.seen for part in parts}
    return seen.get(None) if None in seen else seen


def data_by_shape(
    data: object, shapes: Collection[Shape], serves: Callable[[Shape], bool]
) -> list[tuple[Any, Dataset[Any], Tensor]]:
    """Split ``data`` by shape, with the examples' positions; refuse shapes without a task.

    A family takes :class:`~softground.data.Ragged` data, a dict of data sets by shape, or examples of one length.
    """
    if isinstance(data, Mapping):
        data = Ragged(data)
    while isinstance(data, Subset) and isinstance(data.dataset, Ragged | Examples):
        data = data.dataset.rows(data.indices)
    if isinstance(data, Examples):
        data = Ragged({data.x.shape[1] if data.x.dim() > 1 else 1: data})
    if not isinstance(data, Ragged):
        raise DataError(
            f"A {type(data).__name__} was given for a family of the shapes {', '.join(map(str, shapes))}; expected "
            "Examples.ragged(…), or a dict of data sets by shape."
        )
    for shape, positions in data.positions.items():
        if not serves(shape):
            raise unserved(shape, positions, shapes)
    order = [shape for shape in shapes if len(data.positions.get(shape, ()))]
    order += [shape for shape, at in data.positions.items() if len(at) and shape not in shapes]
    if not order:
        raise DataError(EMPTY)
    return [(shape, data.parts[shape], data.positions[shape]) for shape in order]


def unserved(shape: Shape, positions: Tensor, shapes: Collection[Shape]) -> DataError:
    """Make the error for examples whose shape has no task in the family."""
    shown = ", ".join(map(str, positions[:SHOWN].tolist())) + (" …" if len(positions) > SHOWN else "")
    return DataError(
        f"No task serves the shape {shape!r} of {len(positions)} example(s): {shown}. The family has "
        f"{', '.join(map(str, shapes))}; add a task, say which of these it is (Examples.ragged(…, shapes=…)), or leave "
        "these examples out."
    )


def data_with_tasks(task: Task | Family, data: Data) -> list[tuple[Any, Task, Any, Tensor | None]]:
    """Each shape of a data set: its name, its task, its examples and their positions in ``data``."""
    if isinstance(task, Family):
        return [(shape, task[shape], part, at) for shape, part, at in data_by_shape(data, task.tasks, task.serves)]
    if isinstance(data, Ragged | Mapping):
        raise DataError(
            f"Examples of several shapes were given for the one task {task.name}; make a Family. Inputs and answers of "
            "one task are Examples(x, y)."
        )
    return [(None, task, data, None)]


def parts_of(
    task: Task | Family, data: Data, device: torch.device, workers: int = 0, share: tuple[int, int] = (0, 1)
) -> list[Part]:
    """Split a data set into parts, each with its task. A ``share`` (k, n) has the examples k, k + n, … of each."""
    rank, world = share
    parts = []
    for shape, each, part, at in data_with_tasks(task, data):
        if world > 1 and len(part) < world:
            of = "" if shape is None else f" of shape {shape}"
            raise DataError(f"{len(part)} training examples{of} for {world} processes; give each at least one.")
        rows = range(rank, len(part), world) if world > 1 else None
        parts.append(Part(shape, each, Batches(part, device, workers, at, rows)))
    return parts


def checked_names(sets: Mapping[str, Data]) -> Mapping[str, Data]:
    """Check that the names of further test sets can begin the names of figures."""
    for name in sets:
        if not (isinstance(name, str) and name.isidentifier()) or name.split("_")[0] in TAKEN:
            raise DataError(
                f"A further test set is called {name!r}; expected a word such as 'ood' other than "
                f"{', '.join(sorted(TAKEN))}, because its figures bear this name."
            )
    return sets


def in_order(parts: list[Part], found: Sequence[Any]) -> list[Any]:
    """Merge each part's results into the order of the whole data set."""
    pairs = [pair for part, each in zip(parts, found, strict=True) for pair in zip(part.places, each, strict=True)]
    return [value for _, value in sorted(pairs, key=lambda pair: pair[0])]


def averaged(figures: list[tuple[Part, Json]]) -> Json:
    """Average figures over all examples; for a family, add the figures of each shape by its name."""
    if figures[0][0].shape is None:
        return figures[0][1]
    total = sum(len(part.data) for part, _ in figures)
    names = [name for name in figures[0][1] if all(name in found for _, found in figures)]
    mean = {name: sum(len(part.data) * found[name] for part, found in figures) / total for name in names}
    for part, found in figures:
        mean |= flat_names(found, shape=part.shape)
    return mean
