"""Examples of several shapes, such as lengths, in one data set: grouped by shape, known by their positions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, Subset

from ..errors import DataError
from .columns import column_of, listed, rowed
from .examples import Examples, as_tensor


class Ragged(Dataset[tuple[Any, Any]]):
    """A data set of ``(x, y)`` in parts, one for each shape.

    Parameters
    ----------
    parts
        A map-style data set for each shape, such as :class:`~softground.data.Examples`.
    positions
        Where the examples of each part stand in the whole; by default the parts follow each other.

    >>> data = Examples.ragged([torch.zeros(3, 8), torch.zeros(2, 8), torch.ones(3, 8)], [4, 5, 6])
    >>> data, data[2][1]
    (Ragged(2 of shape 3, 1 of shape 2), 6)
    """

    def __init__(self, parts: Mapping[Any, Any], positions: Mapping[Any, Any] | None = None) -> None:
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
        self.places: list[tuple[Any, int]] = [(None, 0)] * len(every)  # shape and row of every position
        for shape, where in self.positions.items():
            for row, place in enumerate(where.tolist()):
                self.places[place] = shape, row

    @classmethod
    def of(
        cls,
        x: Sequence[Any],
        y: Sequence[Any],
        symbols: Sequence[Any] | None = None,
        known: Sequence[Any] | None = None,
        shapes: Sequence[Hashable] | None = None,
    ) -> Ragged:
        """One array or tensor of inputs per example, and the columns of :class:`~softground.data.Examples`.

        ``shapes`` says which task of a family each example belongs to; by default its number of sites, ``len(x[i])``.
        """
        y = listed(y)
        for name, column in {"y": y, "symbols": symbols, "known": known, "shapes": shapes}.items():
            if column is not None and len(column) != len(x):
                raise DataError(f"{len(x)} inputs but {len(column)} of {name}: give one for each input, or none.")
        symbols, known, shapes = rowed(symbols), rowed(known), None if shapes is None else listed(shapes)
        groups: dict[Any, list[int]] = {}
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
        groups: dict[Any, list[tuple[int, int]]] = {}
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
    true = None if symbols is None else _stacked([as_tensor(symbols[row]).long() for row in rows], rows, "true symbols")
    some = None if known is None else [known[row] for row in rows]
    return Examples(_stacked([x[row] for row in rows], rows, "inputs"), [y[row] for row in rows], true, some)


def _stacked(tensors: list[Tensor], rows: list[int], what: str) -> Tensor:
    first = tensors[0]
    for row, one in zip(rows, tensors, strict=True):
        if one.shape != first.shape or one.dtype != first.dtype:
            raise DataError(
                f"Examples {rows[0]} and {row} have the same shape in the family, but {what} of {tuple(first.shape)} "
                f"{first.dtype} and {tuple(one.shape)} {one.dtype}. Resize the inputs, correct them, or give shapes=…"
            )
    return torch.stack(tensors)


def different(x: Any) -> bool:
    """Whether a list or array of inputs has some with different numbers of sites.

    >>> different([[1, 2], [3]]), different([[1, 2], [3, 4]]), different(torch.zeros(2, 3))
    (True, False, False)
    """
    lone = isinstance(x, Tensor) or (isinstance(x, np.ndarray) and x.dtype != object) or not hasattr(x, "__iter__")
    return not lone and len({len(one) for one in x if hasattr(one, "__len__")}) > 1
