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
    """Tensors that are made here can be trained with later, though inference mode is on around it."""
    if torch.is_inference_mode_enabled():
        with torch.inference_mode(False), torch.no_grad():
            yield
    else:
        yield


@dataclass(frozen=True, eq=False)
class Part:
    """One member of a rule that is a conjunction, S_y = ∩ S_y^c, and touches some of its sites only.

    Parts with the same ``rule`` object are looked at together, as one batch.
    """

    sites: tuple[int, ...]  # of the whole space
    rule: Constraint  # over a space of these sites alone, in this order: ``rule.space``
    answers: Callable[[Tensor], Tensor]  # the whole rule's encoded answers as this one's, ``[rows, …]``


class Constraint(ABC):
    """A rule that ties symbol vectors to answers."""

    @property
    def negates(self) -> bool:
        """Whether an encoded answer is a complement: ~c, a negative number, for all states that c does not explain."""
        return False

    numbering: Interned | None = None  # of the answers, for a rule whose codes mean something to itself alone

    def parts(self) -> Sequence[Part]:
        """What the rule is a conjunction of, where it is one: z ∈ S_y ⇔ every part holds. Else nothing."""
        return ()

    def sole(self) -> Tensor | None:
        """The encoded answer of all states that have one, where it is the same for all: ``[1, …]``. Else None."""
        return None

    @abstractmethod
    def encode(self, answers: Sequence[Any]) -> Tensor:
        """Answers as a tensor whose first axis is the example; the form :meth:`feasible` takes."""

    @abstractmethod
    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Whether z ∈ S_y for each row of ``z[rows, sites]`` and encoded ``y[rows, …]``: ``[rows]`` bool."""

    @abstractmethod
    def admissible(self, z: Tensor) -> Tensor:
        """Whether some answer would make z feasible (the rule alone, without y): ``[rows]`` bool."""

    @abstractmethod
    def answer(self, y: Tensor) -> Any:
        """One encoded answer back as the user's, for messages and predictions."""

    def key(self, y: int) -> Hashable:
        """An encoded answer (an id) as a formula for it is asked: in its exact form, or the relation that it is."""
        return pattern(self.answer(torch.tensor(y)))

    def stated(self, y: Tensor) -> str | None:
        """S_y of one encoded answer in words that decide it, the same in every process; None where there are none."""
        return None

    def misfit(self, y: Tensor) -> str:
        """How one encoded answer's type differs from those of the rule's answers, where that is why nothing fits it."""
        return ""

    def compute(self, z: Tensor) -> list[Any]:
        """The answer of each state ``z[rows, sites]``, in the form the user gives answers in; None where it has none.

        Only some rules compute an answer; the others can only say whether an answer that they are given fits.
        """
        raise ConstraintError(
            f"A {type(self).__name__} like this one checks answers and does not compute them. Give it an answer to "
            "check, or state the rule as a Program."
        )


def of_symbols(space: S) -> S:
    """The space, if its sites have alphabets: rules on symbols cannot compute with real numbers."""
    if not space.categorical:
        raise ConstraintError(
            f"{space!r} was given, whose sites are real numbers; expected a Categorical space. For reals there are "
            "Equations (known sums and balances) and Differences."
        )
    return space
