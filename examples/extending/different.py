"""Whether all symbols are different.

``encode`` turns answers into a tensor, ``feasible`` is the rule, ``admissible`` tells whether any answer makes z
feasible, and ``answer`` is for messages. A rule that can compute answers adds ``compute``. Rules of this kind get the
inverse by enumeration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from softground import Categorical
from softground.constraints import Constraint
from softground.errors import ConstraintError


class AllDifferent(Constraint):
    """z ∈ S_y ⇔ (no symbol occurs twice) = y.

    >>> import softground as sg
    >>> space = sg.Categorical([range(3)] * 3)
    >>> rule = AllDifferent(space)
    >>> rule.feasible(space.encode([(0, 1, 2), (0, 1, 1)]), rule.encode([True, True])).tolist()
    [True, False]
    >>> from softground.inverses import solutions
    >>> solutions(sg.Task(space, rule).inverse, rule.encode([True])).count.tolist()
    [6]
    """

    def __init__(self, space: Categorical) -> None:
        if len(set(space.alphabets)) != 1:
            raise ConstraintError("Sites with different alphabets were given; expected one alphabet for all of them.")
        self.space = space

    def encode(self, answers: Sequence[Any]) -> Tensor:
        """Answers as a tensor, ``[len(answers)]``."""
        for position, answer in enumerate(answers):
            if not isinstance(answer, bool):
                said = f"the answer {answer!r} was given; expected True or False."
                raise ConstraintError(said, example=position)
        return torch.tensor(list(answers), dtype=torch.bool)

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Whether z ∈ S_y, for each row."""
        ordered = z.sort(-1).values
        return (ordered[:, 1:] != ordered[:, :-1]).all(-1) == y

    def admissible(self, z: Tensor) -> Tensor:
        """Every z has an answer."""
        return torch.ones(len(z), dtype=torch.bool, device=z.device)

    def answer(self, y: Tensor) -> bool:
        """An encoded answer as it was given."""
        return bool(y)
