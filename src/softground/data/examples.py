"""Weakly labelled examples held in memory: inputs x, answers y, symbols that are known, and true ones for reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from ..errors import DataError


@dataclass(frozen=True)
class Examples(Dataset[tuple[Tensor, Any]]):
    """A map-style data set of pairs ``(x, y)``.

    Parameters
    ----------
    x
        Inputs, one row per example; for images of symbols ``[examples, sites, channels, height, width]``.
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
        if len(self.x) != len(self.y):
            raise DataError(f"{len(self.x)} inputs but {len(self.y)} answers: each input needs exactly one answer.")
        if self.symbols is not None and len(self.symbols) != len(self.x):
            raise DataError(
                f"{len(self.x)} inputs but {len(self.symbols)} rows of true symbols: give one row per input, or none."
            )

        if self.known is not None and len(self.known) != len(self.x):
            raise DataError(
                f"{len(self.x)} inputs but {len(self.known)} rows of known symbols: give one row per input, or none."
            )

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: int) -> tuple[Tensor, Any]:
        return self.x[index], self.y[index]

    def subset(self, count: int) -> Examples:
        """The first ``count`` examples."""
        symbols, known = (None if part is None else part[:count] for part in (self.symbols, self.known))
        return Examples(self.x[:count], self.y[:count], symbols, known)


@dataclass(frozen=True)
class Split:
    """Examples to train and to test on; ``note`` says in one sentence where they come from."""

    train: Examples
    test: Examples
    note: str


def as_tensor(x: Any) -> Tensor:
    """Inputs given as an array or a nested list, as one tensor."""
    try:
        return torch.as_tensor(x if isinstance(x, Tensor) else np.asarray(x))
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"X is a {type(x).__name__} that does not make one tensor ({error}). Give an array of numbers, all rows of "
            "one shape; turn text into numbers first."
        ) from error
