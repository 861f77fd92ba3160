"""A data set in parts, one for each shape. A task alone is a family with one part, whose shape has no name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset, Subset

from ..data.examples import Examples
from ..data.ragged import Ragged
from ..errors import ConstraintError, DataError, LearnerError
from ..family import Family
from ..task import Task
from .batches import EMPTY, Batches

Data = Dataset[Any] | Mapping[Any, Dataset[Any]]
SHOWN = 5  # positions in a message
# What the names of other figures and entries of a summary begin with.
TAKEN = {"after", "before", "constrained", "grammatical", "plain", "relabelled", "shape", "solver"}
TAKEN |= {"test", "train", "validation"}


class Part:
    """The examples of one shape, and the task that they belong to."""

    task: Task

    def __init__(self, shape: Any, task: Task | None, data: Batches, space: Any = None) -> None:
        self.shape, self.data, self.space = shape, data, space or task.space  # type: ignore[union-attr]
        self.task = task  # type: ignore[assignment]  # only a model whose rule could not be saved has none
        self.prefix = prefix(shape)  # what the names of this part's own figures begin with

    @cached_property
    def y(self) -> Tensor:
        """The encoded answers."""
        return self.encode(self.data.answers)

    def encode(self, answers: Sequence[Any]) -> Tensor:
        """Answers of these examples, encoded; an error names the example by its place in the whole data set."""
        try:
            return self.task.constraint.encode(answers).to(self.data.device)
        except ConstraintError as error:  # which counts from the first answer that it was given
            place = r"^Example (\d+)", lambda found: f"Example {self.data.place(int(found[1]))}"
            raise type(error)(re.sub(*place, str(error))) from error

    @property
    def places(self) -> list[int]:
        """Where these examples stand in the whole data set."""
        return self.data.at(torch.arange(len(self.data))).tolist()


def prefix(shape: Any) -> str:
    """What the names of a shape's own figures begin with; nothing for a task alone."""
    return "" if shape is None else f"shape_{shape}_"


def tasks_of(task: Task | Family) -> dict[Any, Task]:
    """The tasks by shape."""
    return {None: task} if isinstance(task, Task) else task.tasks


def spaces_of(task: Task | Family) -> Any:
    """The space of a task, or those of a family by shape."""
    if not isinstance(task, Task | Family):
        raise LearnerError(f"task={task!r} was given; expected a Task(space, rule), or a Family of such tasks.")
    return task.space if isinstance(task, Task) else {shape: each.space for shape, each in task.tasks.items()}


def inputs_of(parts: list[Part]) -> tuple[Any, torch.dtype | None]:
    """What one input looks like, once one has been seen: its shape, for a family by the examples' shapes, and type."""
    shapes = {part.shape: part.data.shape for part in parts}
    return shapes.get(None) if None in shapes else shapes, parts[0].data.dtype


def shaped(data: Any, shapes: Collection[Any], serves: Callable[[Any], bool]) -> list[tuple[Any, Dataset[Any], Tensor]]:
    """The examples of each shape and where they stand in ``data``; a shape that nothing ``serves`` is refused.

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


def unserved(shape: Any, positions: Tensor, shapes: Collection[Any]) -> DataError:
    """The error for examples whose shape is none of a family's."""
    shown = ", ".join(map(str, positions[:SHOWN].tolist())) + (" …" if len(positions) > SHOWN else "")
    return DataError(
        f"No task serves the shape {shape!r} of {len(positions)} example(s): {shown}. The family has "
        f"{', '.join(map(str, shapes))}; add a task, say which of these it is (Examples.ragged(…, shapes=…)), or leave "
        "these examples out."
    )


def divided(task: Task | Family, data: Data) -> list[tuple[Any, Task, Any, Tensor | None]]:
    """Each shape of a data set: its name, its task, its examples and where they stand in ``data``."""
    if isinstance(task, Family):
        return [(shape, task[shape], part, at) for shape, part, at in shaped(data, task.tasks, task.serves)]
    if isinstance(data, Ragged | Mapping):
        raise DataError(
            f"Examples of several shapes were given for the one task {task.name}; make a Family. Inputs and answers of "
            "one task are Examples(x, y)."
        )
    return [(None, task, data, None)]


def parts_of(
    task: Task | Family, data: Data, device: torch.device, workers: int = 0, share: tuple[int, int] = (0, 1)
) -> list[Part]:
    """A data set in parts, each with its task. A ``share`` (k, n) has the examples k, k + n, … of each."""
    rank, world = share
    parts = []
    for shape, each, part, at in divided(task, data):
        if world > 1 and len(part) < world:
            of = "" if shape is None else f" of shape {shape}"
            raise DataError(f"{len(part)} training examples{of} for {world} processes; give each at least one.")
        rows = range(rank, len(part), world) if world > 1 else None
        parts.append(Part(shape, each, Batches(part, device, workers, at, rows)))
    return parts


def checked_names(sets: Mapping[str, Data]) -> Mapping[str, Data]:
    """Further test sets, if figures can be called by their names."""
    for name in sets:
        if not (isinstance(name, str) and name.isidentifier()) or name.split("_")[0] in TAKEN:
            raise DataError(
                f"A further test set is called {name!r}; expected a word such as 'ood' that is none of "
                f"{', '.join(sorted(TAKEN))}, because its figures are called by it."
            )
    return sets


def in_order(parts: list[Part], found: Sequence[Any]) -> list[Any]:
    """What was found for the examples of each part, in the order of the whole data set."""
    pairs = [pair for part, each in zip(parts, found, strict=True) for pair in zip(part.places, each, strict=True)]
    return [value for _, value in sorted(pairs, key=lambda pair: pair[0])]


def together(figures: list[tuple[Part, dict[str, Any]]]) -> dict[str, Any]:
    """Figures of all parts, averaged over the examples; then, for a family, those of each shape by its name."""
    if figures[0][0].shape is None:
        return figures[0][1]
    total = sum(len(part.data) for part, _ in figures)
    names = [name for name in figures[0][1] if all(name in found for _, found in figures)]
    mean = {name: sum(len(part.data) * found[name] for part, found in figures) / total for name in names}
    return mean | {part.prefix + name: value for part, found in figures for name, value in found.items()}
