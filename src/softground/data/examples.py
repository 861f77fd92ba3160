"""Weakly labelled examples held in memory: inputs x, answers y, symbols that are known, and true ones for reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from ..errors import DataError
from .columns import Names, answers_of, column, inputs_of, known_of, listed, picked, rowed

if TYPE_CHECKING:
    from .ragged import Ragged

APART = "Validation examples show images of their own."


@dataclass(frozen=True)
class Examples(Dataset[tuple[Tensor, Any]]):
    """A map-style data set of pairs ``(x, y)``.

    Parameters
    ----------
    x
        Inputs, one row per example; for images of symbols ``[examples, sites, channels, height, width]``. Where images
        recur, a :class:`~softground.data.Gathered` holds each once.
    y
        One answer per example: ints, :class:`fractions.Fraction`, strings or tuples of these.
    symbols
        Optional true symbol codes ``[examples, sites]``, for reports and the supervised reference alone.
    known
        Optional symbols that training may know: codes ``[examples, sites]`` with −1 where a site is unknown, or one row
        of symbols per example with None for 'unknown' (or None for the row). They hold exactly in all that is sampled,
        and the network learns them as labels.

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
        object.__setattr__(self, "y", listed(self.y))
        object.__setattr__(self, "known", rowed(self.known))
        if _is_numbers(self.x):
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
    def of(cls, table: Any, inputs: Names, answer: str, known: Names | None = None) -> Examples:
        """Examples from the columns of a table, such as a data frame of pandas or a Hugging Face data set.

        ``inputs`` is the column of the inputs, or a list of columns, one for each site; so is ``known``, for symbols
        that training may know. A missing answer or symbol is an unknown one. For tables larger than memory see
        :class:`~softground.Records`.

        >>> table = {"left": [3.0, 1.0], "right": [4.0, 1.0], "sum": [7, None], "a": [None, 1], "b": [4, None]}
        >>> data = Examples.of(table, ["left", "right"], "sum", known=["a", "b"])
        >>> data.x.shape, data.y, data.known
        (torch.Size([2, 2]), [7, None], [(None, 4), (1, None)])
        """
        symbols = None if known is None else known_of(table, known)
        return cls(inputs_of(table, inputs), answers_of(column(table, answer)), known=symbols)

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: int) -> tuple[Tensor, Any]:
        return self.x[index], self.y[index]

    @property
    def answers(self) -> Sequence[Any]:
        """``y``, by the name that other data sets have for it."""
        return self.y

    @staticmethod
    def ragged(
        x: Sequence[Any],
        y: Sequence[Any],
        symbols: Sequence[Any] | None = None,
        known: Sequence[Any] | None = None,
        shapes: Sequence[Any] | None = None,
    ) -> Ragged:
        """Examples of several lengths, for a :class:`~softground.Family`; see :meth:`~softground.data.Ragged.of`."""
        from .ragged import Ragged

        return Ragged.of(x, y, symbols, known, shapes)

    def subset(self, count: int) -> Examples:
        """The first ``count`` examples."""
        return self.rows(range(len(self))[:count])

    def rows(self, index: Sequence[int]) -> Examples:
        """The examples at these positions."""
        columns = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(self, **{name: picked(c, index) for name, c in columns.items() if c is not None})


@dataclass(frozen=True)
class Split:
    """Examples to train and to test on; ``note`` says in one sentence where they come from.

    ``more`` are further test sets by name, such as ``{"ood": …}``, evaluated once, at the end of a run. Their figures
    are called ``ood_symbol_accuracy`` and so on.

    ``apart``, where examples are dealt from a pool of images, makes training and validation examples that show
    different ones, of a share of the images and a seed.
    """

    train: Any  # Examples, or Ragged where they have several shapes
    test: Any
    note: str
    validation: Any = None
    more: Mapping[str, Any] = field(default_factory=dict)
    apart: Callable[[float, int], tuple[Any, Any]] | None = None

    def hold_out(self, share: float, seed: int) -> Split:
        """Cut a ``share`` of the training examples off for validation, at random; the test examples stay as they are.

        Data that have a validation part already keep it, unless images can be held out for it (``apart``).

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
    """How many of ``total`` a share is: at least one, and not all."""
    count = max(1, round(share * total))
    if count >= total:
        raise DataError.of(
            {"validation": share}, f", which leaves none of {total} training examples to train on; give more."
        )
    return count


def _is_numbers(x: Any) -> bool:
    """Whether inputs are an array, a frame of pandas or nested lists: numbers, to be held as one tensor."""
    if isinstance(x, list):
        return isinstance(x[0] if x else None, list | int | float)
    return hasattr(x, "to_numpy") or (isinstance(x, np.ndarray) and x.dtype != object)


def as_tensor(x: Any) -> Tensor:
    """Inputs given as an array or a nested list, as one tensor."""
    try:
        if isinstance(x, Tensor):
            return x
        array = np.asarray(x)
        return torch.as_tensor(array if array.flags.writeable else array.copy())  # pandas gives such views
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"X is a {type(x).__name__} that does not make one tensor ({error}). Give an array of numbers, all rows of "
            "one shape; turn text into numbers first."
        ) from error
