"""The constraint seam: which symbol vectors are feasible for an answer, z ∈ S_y."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from torch import Tensor


class Constraint(Protocol):
    """A rule that ties symbol vectors to answers."""

    def encode(self, answers: Sequence[Any]) -> Tensor:
        """Answers as a tensor whose first axis is the example; the form :meth:`feasible` takes."""

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Whether z ∈ S_y for each row of ``z[rows, sites]`` and encoded ``y[rows, …]``: ``[rows]`` bool."""

    def admissible(self, z: Tensor) -> Tensor:
        """Whether some answer would make z feasible (the rule alone, without y): ``[rows]`` bool."""

    def answer(self, y: Tensor) -> Any:
        """One encoded answer back as the user's, for messages and predictions."""
