"""Examples from tables: data frames of pandas or polars, Hugging Face ``datasets``, dicts of lists, lists of records.

None of these packages is imported. A table is any object that returns a column by its name; records are a sequence of
mappings. Numbers, arrays, tensors and Pillow's images are inputs; an image becomes bytes
``[channels, height, width]``. A missing value in the column of answers (None, NaN, NA) is an unknown answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import Dataset, Subset

from ..errors import DataError
from .gathered import Gathered

Names = str | Sequence[str]


def listed(column: object) -> list[Any]:
    """Convert a column to a list in its own order, not by the labels of a pandas series.

    >>> listed(np.array([3, 4])), listed(torch.tensor([[1, 2]])), listed(range(2))
    ([3, 4], [[1, 2]], [0, 1])
    """
    if isinstance(column, list):
        return column
    column = np.asarray(column) if hasattr(column, "__array__") else column
    found = column.tolist() if hasattr(column, "tolist") else column
    if isinstance(found, str | Set | Mapping) or not isinstance(found, Iterable):
        raise DataError(
            f"{found!r} was given for all examples; expected a list with one entry for each of them, in their order."
        )
    return list(found)


def rowed(column: Any) -> Any:
    """Convert a column of rows, such as known symbols, to a list; a tensor or array of codes is kept."""
    return column if column is None or isinstance(column, Tensor | np.ndarray) else list(column)


def picked(column: Any, index: Sequence[int]) -> Any:
    """Select rows of a column, which stays a tensor or an array."""
    if isinstance(column, Gathered):
        return column.rows(list(index))
    return column[list(index)] if isinstance(column, Tensor | np.ndarray) else [column[i] for i in index]


def column_of(data: object, name: str) -> Any:
    """A data set's ``answers``, ``symbols`` or ``known``, if any; a subset takes those of its whole."""
    if type(data) is not Subset:
        return getattr(data, name, None)
    whole = column_of(data.dataset, name)
    return None if whole is None else picked(whole, data.indices)


def column(table: Any, name: str) -> list[Any]:
    """Read a table's column as a list."""
    try:
        return list(table[name])
    except (KeyError, TypeError, IndexError, ValueError) as error:  # the last is Hugging Face's
        names: Any = next((getattr(table, n) for n in ("column_names", "columns") if hasattr(table, n)), None)
        names = list(table) if names is None and isinstance(table, dict) else names
        there = "" if names is None else f"; it has {', '.join(repr(str(n)) for n in names)}"
        raise DataError(
            f"This {type(table).__name__} has no column {name!r}{there}. Name one of its columns."
        ) from error


def inputs_of(table: object, names: Names) -> Tensor:
    """Read the inputs of all rows: one column ``[rows, …]``, or one per site, ``[rows, sites, …]``."""
    if isinstance(names, str):
        return _stacked([_entry(value, row, names) for row, value in enumerate(column(table, names))], names)
    return torch.stack([inputs_of(table, name) for name in names], 1)


def known_of(table: object, names: Names) -> list[Any]:
    """Read the known symbols of all rows, from one column or one per site; None for a missing one."""
    if isinstance(names, str):
        return answers_of(column(table, names))
    return list(zip(*(answers_of(column(table, name)) for name in names), strict=True))


def answers_of(values: Sequence[object]) -> list[Any]:
    """Convert answers; a missing one becomes None.

    >>> answers_of([7, 7.0, float("nan"), None, "seven"])
    [7, 7.0, None, None, 'seven']
    """
    return [None if _missing(value) else value for value in values]


def _missing(value: object) -> bool:
    return type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)


class Records(Dataset[tuple[Tensor, Any]]):
    """A map-style data set of pairs ``(x, y)`` from records, each read when it is needed.

    For sets larger than memory: ``Learner(…, workers=4)`` reads ahead in four processes. Answers are read first.

        Parameters
        ----------
        data
            A sequence of mappings, such as a Hugging Face data set or a list of dicts; or a frame of pandas.
        inputs, answer
            The names of the input, or of one input per site, and of the answer.

        >>> data = Records([{"left": [1.0], "right": [2.0], "sum": 3}], inputs=["left", "right"], answer="sum")
        >>> data[0]
        (tensor([[1.],
                [2.]]), 3)
    """

    def __init__(self, data: Any, inputs: Names, answer: str) -> None:
        self.data, self.inputs = data, inputs
        if hasattr(data, "column_names") or hasattr(data, "iloc"):  # reads one column only, for example without images
            values = column(data, answer)
        else:
            values = [_field(data[row], row, answer) for row in range(len(data))]
        self.answers = answers_of(values)

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, index: int) -> tuple[Tensor, Any]:
        record = getattr(self.data, "iloc", self.data)[index]  # of pandas by position, not by label
        names = [self.inputs] if isinstance(self.inputs, str) else self.inputs
        entries = [_entry(_field(record, index, name), index, name) for name in names]
        return entries[0] if isinstance(self.inputs, str) else torch.stack(entries), self.answers[index]


def _field(record: Any, index: int, name: str) -> Any:
    try:
        return record[name]
    except (KeyError, TypeError, IndexError) as error:
        shown = f"has {', '.join(map(repr, record))}" if isinstance(record, dict) else f"is a {type(record).__name__}"
        raise DataError(f"Record {index} has no {name!r}: it {shown}. Name one of its fields.") from error


def _entry(value: object, row: int, name: str) -> Tensor:
    if isinstance(value, Tensor):
        return value
    try:
        array = _array(value)
    except ValueError:  # rows of several lengths
        array = np.array(None)
    if array.dtype.kind not in "biuf":
        raise DataError(
            f"Row {row} of {name!r} is a {type(value).__name__} that makes no tensor; expected a number, an array of "
            "numbers or an image of Pillow. Turn it into one of these first."
        )
    if hasattr(value, "getbands"):  # an image of Pillow
        array = array[None] if array.ndim == 2 else np.ascontiguousarray(np.moveaxis(array, -1, 0))
    return torch.from_numpy(array.astype(np.float32) if array.dtype == np.float64 else array)


def _array(value: object) -> npt.NDArray[Any]:
    """Make a writable copy."""
    array = np.array(value)
    nested = array.dtype == object and array.ndim > 0  # lists of lists, as Parquet files have them
    return np.array([_array(part) for part in array]) if nested else array


def _stacked(entries: list[Tensor], name: str) -> Tensor:
    if not entries:
        raise DataError(f"The column {name!r} is empty; give at least one row.")
    for row, entry in enumerate(entries):
        if entry.shape != entries[0].shape:
            shapes = f"{tuple(entry.shape)}, and row 0 {tuple(entries[0].shape)}"
            raise DataError(
                f"Row {row} of {name!r} has shape {shapes}; give inputs of one shape: resize images, or give several "
                "lengths to Examples.ragged(list(table[name]), answers)."
            )
    return torch.stack(entries)
