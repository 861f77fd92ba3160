"""Weakly labelled examples of one or several shapes: inputs x, answers y, known symbols, true symbols for reports."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, Subset

from ..errors import DataError
from .columns import Names, answers_of, column, column_of, inputs_of, known_of, listed, picked, rowed

APART = "Validation examples show images of their own."


@dataclass(frozen=True)
class Examples(Dataset[tuple[Tensor, Any]]):
    """A map-style data set of pairs ``(x, y)``.

    Parameters
    ----------
    x
        Inputs, one row per example; for images of symbols ``[examples, sites, channels, height, width]``. If images
        recur, a :class:`~softground.data.Gathered` stores each once.
    y
        One answer per example: ints, :class:`fractions.Fraction`, strings or tuples of these.
    symbols
        Optional true symbol codes ``[examples, sites]``, used only in reports and by the supervised reference.
    known
        Optional labels for training: codes ``[examples, sites]`` with −1 for unknown sites, or one row of symbols per
        example with None for an unknown symbol or a whole row. All samples agree with them, and the network learns them
        as labels.

    >>> import torch
    >>> data = Examples(torch.zeros(2, 3), y=[4, 5])
    >>> len(data), data[1][1]
    (2, 5)
    """

    x: Tensor
    y: Sequence[Any]
    symbols: Tensor | None = None
    known: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "y", list(listed(self.y)))  # a copy, because the caller's list may change
        object.__setattr__(self, "known", rowed(self.known))
        if isinstance(self.x, Tensor) or _is_numbers(self.x):
            object.__setattr__(self, "x", as_tensor(self.x))
        if self.symbols is not None:
            object.__setattr__(self, "symbols", as_tensor(self.symbols))
        if len(self.x) != len(self.y):
            raise DataError(f"{len(self.x)} inputs but {len(self.y)} answers: each input needs exactly one answer.")
        for name, rows in (("true", self.symbols), ("known", self.known)):
            if rows is not None and len(rows) != len(self.x):
                raise DataError(
                    f"{len(self.x)} inputs but {len(rows)} rows of {name} symbols: give one row per input, or none."
                )

    @classmethod
    def of(cls, table: object, inputs: Names, answer: str, known: Names | None = None) -> Examples:
        """Examples from the columns of a table, such as a data frame of pandas or a Hugging Face data set.

        ``inputs`` is the column of the inputs, or a list of columns, one for each site; likewise ``known``, for known
        symbols. A missing answer or symbol is unknown. For tables larger than memory see :class:`~softground.Records`.

        >>> table = {"left": [3.0, 1.0], "right": [4.0, 1.0], "sum": [7, None], "a": [None, 1], "b": [4, None]}
        >>> data = Examples.of(table, ["left", "right"], "sum", known=["a", "b"])
        >>> data.x.shape, data.y, data.known
        (torch.Size([2, 2]), [7, None], [(None, 4), (1, None)])
        """
        symbols = None if known is None else known_of(table, known)
        return cls(inputs_of(table, inputs), answers_of(column(table, answer)), known=symbols)

    def __repr__(self) -> str:
        some = ", ".join(map(repr, self.y[:3])) + ", …" * (len(self.y) > 3)
        more = "".join(
            f", {name} symbols" for name, rows in (("true", self.symbols), ("known", self.known)) if rows is not None
        )
        return f"Examples({len(self.y):,} of shape {tuple(self.x.shape[1:])}, answers {some}{more})"

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: int) -> tuple[Tensor, Any]:
        return self.x[index], self.y[index]

    @property
    def answers(self) -> Sequence[Any]:
        """``y``, under the name that other data sets use."""
        return self.y

    @staticmethod
    def ragged(
        x: Sequence[object],
        y: Sequence[object],
        symbols: Sequence[object] | None = None,
        known: Sequence[object] | None = None,
        shapes: Sequence[Hashable] | None = None,
    ) -> Ragged:
        """Examples of several lengths, for a :class:`~softground.Family`; see :meth:`~softground.data.Ragged.of`."""
        return Ragged.of(x, y, symbols, known, shapes)

    def subset(self, count: int) -> Examples:
        """The first ``count`` examples."""
        return self.rows(range(len(self))[:count])

    def rows(self, index: Sequence[int]) -> Examples:
        """The examples at these positions."""
        columns = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(self, **{name: picked(c, index) for name, c in columns.items() if c is not None})


class Ragged(Dataset[tuple[Any, Any]]):
    """A data set of ``(x, y)`` in parts, one for each shape.

    Parameters
    ----------
    parts
        A map-style data set for each shape, such as :class:`~softground.data.Examples`.
    positions
        Each part's positions in the whole data set; by default, the parts follow each other.

    >>> data = Examples.ragged([torch.zeros(3, 8), torch.zeros(2, 8), torch.ones(3, 8)], [4, 5, 6])
    >>> data, data[2][1]
    (Ragged(2 of shape 3, 1 of shape 2), 6)
    """

    def __init__(self, parts: Mapping[Any, object], positions: Mapping[Any, object] | None = None) -> None:
        if not parts:
            raise DataError("A data set of no shapes was given; give at least one part.")
        self.parts = dict(parts)
        counts = [len(part) for part in self.parts.values()]
        ends = np.cumsum(counts).tolist()
        follow = (range(end - count, end) for count, end in zip(counts, ends, strict=True))
        given = follow if positions is None else (positions[shape] for shape in self.parts)
        self.positions = {
            shape: torch.tensor(listed(where), dtype=torch.long) for shape, where in zip(self.parts, given, strict=True)
        }
        every = torch.cat([*self.positions.values()])
        if [*map(len, self.positions.values())] != counts or every.sort().values.tolist() != [*range(len(every))]:
            raise DataError(
                f"Positions of {sum(counts)} examples were given; expected 0 to {sum(counts) - 1}, each once, and as "
                "many for a shape as it has examples."
            )
        self.places: list[tuple[Hashable, int]] = [(None, 0)] * len(every)  # shape and row of every position
        for shape, where in self.positions.items():
            for row, place in enumerate(where.tolist()):
                self.places[place] = shape, row

    @classmethod
    def of(
        cls,
        x: Sequence[object],
        y: Sequence[object],
        symbols: Sequence[object] | None = None,
        known: Sequence[object] | None = None,
        shapes: Sequence[Hashable] | None = None,
    ) -> Ragged:
        """Make a data set from one array of inputs per example and the columns of :class:`~softground.data.Examples`.

        ``shapes`` names each example's task in a family; by default, the number of sites, ``len(x[i])``.
        """
        y = listed(y)
        for name, given in {"y": y, "symbols": symbols, "known": known, "shapes": shapes}.items():
            if given is not None and len(given) != len(x):
                raise DataError(f"{len(x)} inputs but {len(given)} of {name}: give one for each input, or none.")
        symbols, known, shapes = rowed(symbols), rowed(known), None if shapes is None else listed(shapes)
        groups: dict[Hashable, list[int]] = {}
        inputs = [as_tensor(one) for one in x]
        if shapes is None and (lone := [place for place, one in enumerate(inputs) if not one.dim()]):
            raise DataError(f"Examples {lone[:8]} are single numbers; expected one input for each site.")
        for place, shape in enumerate([len(one) for one in inputs] if shapes is None else shapes):
            groups.setdefault(shape, []).append(place)
        return cls({shape: _examples(inputs, y, symbols, known, rows) for shape, rows in groups.items()}, groups)

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        shape, row = self.places[index]
        x, y = self.parts[shape][row]
        return x, y

    @property
    def answers(self) -> list[Any]:
        """All answers, in the order of the data set."""
        found: list[Any] = [None] * len(self)
        for shape, where in self.positions.items():
            part = self.parts[shape]
            own = column_of(part, "answers")
            own = [part[row][1] for row in range(len(part))] if own is None else own
            for place, answer in zip(where.tolist(), own, strict=True):
                found[place] = answer
        return found

    def __repr__(self) -> str:
        return f"Ragged({', '.join(f'{len(part):,} of shape {shape}' for shape, part in self.parts.items())})"

    def rows(self, index: Iterable[int]) -> Ragged:
        """The examples at these positions."""
        groups: dict[Hashable, list[tuple[int, int]]] = {}
        for place, old in enumerate(index):
            shape, row = self.places[old]
            groups.setdefault(shape, []).append((place, row))
        order = [shape for shape in self.parts if shape in groups]

        def some(part: Any, rows: list[int]) -> Any:
            return part.rows(rows) if isinstance(part, Examples) else Subset(part, rows)

        return Ragged(
            {shape: some(self.parts[shape], [row for _, row in groups[shape]]) for shape in order},
            {shape: [place for place, _ in groups[shape]] for shape in order},
        )


def _examples(x: list[Tensor], y: Any, symbols: Any, known: Any, rows: list[int]) -> Examples:
    """The examples of one shape."""
    true = (
        None if symbols is None else _one_shape([as_tensor(symbols[row]).long() for row in rows], rows, "true symbols")
    )
    some = None if known is None else [known[row] for row in rows]
    return Examples(_one_shape([x[row] for row in rows], rows, "inputs"), [y[row] for row in rows], true, some)


def _one_shape(tensors: list[Tensor], rows: list[int], what: str) -> Tensor:
    first = tensors[0]
    for row, one in zip(rows, tensors, strict=True):
        if one.shape != first.shape or one.dtype != first.dtype:
            raise DataError(
                f"Examples {rows[0]} and {row} have the same shape in the family, but {what} of {tuple(first.shape)} "
                f"{first.dtype} and {tuple(one.shape)} {one.dtype}. Resize the inputs, correct them, or give shapes=…"
            )
    return torch.stack(tensors)


def different(x: Any) -> bool:
    """Whether inputs differ in their number of sites.

    >>> different([[1, 2], [3]]), different([[1, 2], [3, 4]]), different(torch.zeros(2, 3))
    (True, False, False)
    """
    lone = (
        isinstance(x, Tensor)
        or hasattr(x, "toarray")
        or (isinstance(x, np.ndarray) and x.dtype != object)
        or not hasattr(x, "__iter__")
    )
    return not lone and len({len(one) for one in x if hasattr(one, "__len__")}) > 1


@dataclass(frozen=True)
class Split:
    """Training, test and validation examples; ``note`` states their source in one sentence.

    ``more`` are further test sets by name, such as ``{"ood": …}``, evaluated once, at the end of a run. Their figures
    are named ``ood_symbol_accuracy`` and so on.

    For examples dealt from a pool of images, ``apart`` makes training and validation examples that share no image, from
    a share of the images and a seed.
    """

    train: Any  # Examples, or Ragged for several shapes
    test: Any
    note: str
    validation: Any = None
    more: Mapping[str, Any] = field(default_factory=dict)
    apart: Callable[[float, int], tuple[Any, Any]] | None = None

    def hold_out(self, share: float, seed: int) -> Split:
        """Hold out a random ``share`` of the training examples for validation; test examples do not change.

        An existing validation part is kept, unless images can be held out for it (``apart``).

                >>> split = Split(Examples(torch.zeros(10, 3), range(10)), Examples(torch.zeros(1, 3), [0]), "Zeros.")
                >>> cut = split.hold_out(0.3, seed=0)
                >>> cut.train.y, cut.validation.y
                ([0, 2, 3, 5, 6, 8, 9], [1, 4, 7])
        """
        if not 0 <= share < 1:
            raise DataError.of({"validation": share}, "expected a share of the training examples, 0 to below 1.")
        if share == 0:
            return self
        if self.apart is not None:
            train, validation = self.apart(share, seed)
            note = f"{self.note} {APART}"
            return replace(self, train=train, validation=validation, note=note, apart=None)
        if self.validation is not None:
            return self
        total = len(self.train)
        count = held_out(total, share)
        order = torch.randperm(total, generator=torch.Generator().manual_seed(seed))
        held, kept = sorted(order[:count].tolist()), sorted(order[count:].tolist())
        return replace(self, train=self.train.rows(kept), validation=self.train.rows(held))


def held_out(total: int, share: float) -> int:
    """The number of examples in a share of ``total``: at least one, and not all."""
    count = max(1, round(share * total))
    if count >= total:
        raise DataError.of(
            {"validation": share}, f", which leaves none of {total} training examples to train on; give more."
        )
    return count


def _is_numbers(x: object) -> bool:
    """Whether inputs are numbers for one tensor: an array, a pandas frame or nested lists."""
    if isinstance(x, list):
        return isinstance(x[0] if x else None, list | int | float)
    return hasattr(x, "to_numpy") or hasattr(x, "toarray") or (isinstance(x, np.ndarray) and x.dtype != object)


def as_tensor(x: object) -> Tensor:
    """Convert an array or a nested list of inputs to one tensor."""
    try:
        if not isinstance(x, Tensor):
            if hasattr(x, "toarray"):  # of scipy
                raise TypeError("it is sparse; X.toarray() is not")
            array = np.asarray(x)
            usual = array.flags.writeable and min(array.strides, default=0) >= 0  # pandas gives other views
            x = torch.as_tensor(array if usual else array.copy())
        if x.layout != torch.strided or x.is_complex():
            raise TypeError(f"it is {'complex' if x.is_complex() else 'sparse; X.to_dense() is not'}")
        made: Tensor = x.detach()
        return made.clone() if made.is_inference() else made  # torch cannot train with inference tensors
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"X is a {type(x).__name__} that does not make one tensor ({error}). Give an array of numbers, all rows of "
            "one shape; turn text into numbers first."
        ) from error
