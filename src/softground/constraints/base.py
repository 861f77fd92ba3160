"""The constraint seam: which symbol vectors are feasible for an answer, z ∈ S_y."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from ..errors import ConstraintError
from ..spaces.base import Space
from .answers import Interned
from .relations import pattern

S = TypeVar("S", bound=Space)


@contextmanager
def outside_inference() -> Iterator[None]:
    """Make tensors that can be trained with later, even inside inference mode."""
    if torch.is_inference_mode_enabled():
        with torch.inference_mode(False), torch.no_grad():
            yield
    else:
        yield


@dataclass(frozen=True, eq=False)
class Part:
    """One constraint of a conjunction S_y = ∩ S_y^c, on some of the sites.

    Parts with the same ``rule`` object are evaluated together, as one batch.
    """

    sites: tuple[int, ...]  # of the whole space
    rule: Constraint  # over a space of these sites alone, in this order: ``rule.space``
    answers: Callable[[Tensor], Tensor]  # the whole rule's encoded answers as this one's, ``[rows, …]``


class Constraint(ABC):
    """A rule that ties symbol vectors to answers."""

    @property
    def negates(self) -> bool:
        """Whether some encoded answer is a complement: ~c, a negative number, for all states outside S_c."""
        return False

    numbering: Interned | None = None  # of the answers, for a rule with its own codes

    def parts(self) -> Sequence[Part]:
        """The parts of a conjunction: z ∈ S_y ⇔ every part holds. Empty for other rules."""
        return ()

    def sole(self) -> Tensor | None:
        """The encoded answer ``[1, …]`` if all states with an answer share one; else None."""
        return None

    @abstractmethod
    def encode(self, answers: Sequence[Any]) -> Tensor:
        """Answers as a tensor whose first axis is the example; the form :meth:`feasible` takes."""

    @abstractmethod
    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Whether z ∈ S_y for each row of ``z[rows, sites]`` and encoded ``y[rows, …]``: ``[rows]`` bool."""

    @abstractmethod
    def admissible(self, z: Tensor) -> Tensor:
        """Whether z has an answer at all: ``[rows]`` bool."""

    @abstractmethod
    def answer(self, y: Tensor) -> Any:
        """Decode one answer to the user's form, for messages and predictions."""

    def key(self, y: int) -> Hashable:
        """The exact form, or the relation, of an encoded answer (an id), to build its formula."""
        return pattern(self.answer(torch.tensor(y)))

    def stated(self, y: Tensor) -> str | None:
        """A text that determines S_y of an encoded answer, the same in every process; None if there is none."""
        return None

    def misfit(self, y: Tensor) -> str:
        """How an encoded answer's type differs from those of the rule's answers; empty if it fits."""
        return ""

    def compute(self, z: Tensor) -> list[Any]:
        """The answer of each state ``z[rows, sites]``, in the user's form; None for a state without one.

        Some rules can only check an answer; they refuse.
        """
        raise ConstraintError(
            f"A {type(self).__name__} like this one checks answers and does not compute them. Give it an answer to "
            "check, or state the rule as a Program."
        )


def of_symbols(space: S) -> S:
    """Return the space if its sites have alphabets; refuse real numbers."""
    if not space.categorical:
        raise ConstraintError(
            f"{space!r} was given, whose sites are real numbers; expected a Categorical space. For reals there are "
            "Equations (known sums and balances) and Differences."
        )
    return space
