r"""A rule given as a program z → y: S_y is everything the program maps to y.

The function takes one argument per site. *Plain*, it is called on one state with the symbols themselves and
returns its answer; ``None``, or an arithmetic error such as a division by zero, means that the state has
none. Results are cached by state. *Vectorised*, it is called with one long tensor per site (the symbols
where they are ints, else their positions in the site's alphabet) and returns a tensor of whole numbers, or
a tuple of them: (numerator, denominator) in lowest terms for rationals, one tensor per entry for tuples. A
bool tensor at the end of the tuple says which states have an answer at all.

>>> from softground.spaces import Categorical
>>> space = Categorical([range(10), range(10)])
>>> total = Program(lambda a, b: a + b, space)
>>> y = total.encode([18, 3])
>>> total.feasible(space.encode([(9, 9), (1, 1)]), y).tolist()
[True, False]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..errors import ConstraintError
from ..spaces.categorical import Categorical
from .answers import INTERNING, exact, integers

NO_ANSWER = -1


class Program:
    """The constraint z ∈ S_y ⇔ function(z) = y.

    Parameters
    ----------
    function
        From symbols to the answer, one argument a site.
    space
        Where the symbols live.
    vectorised
        Whether the function takes and returns tensors.
    """

    def __init__(self, function: Callable[..., Any], space: Categorical, *, vectorised: bool = False) -> None:
        self.function = function
        self.space = space
        self.vectorised = vectorised
        # An answer's id is its position in these lists. The key is what equality is decided by: the exact
        # answer of a plain program, the row of whole numbers of a vectorised one.
        self._ids: dict[Hashable, int] = {}
        self._answers: list[Any] = []
        self._cache: dict[tuple[int, ...], int] = {}
        self._rows: dict[torch.device, Tensor] = {}
        self._width = self._values(torch.zeros(1, space.sites, dtype=torch.long))[0].shape[1] if vectorised else 1

    def encode(self, answers: Sequence[Any]) -> Tensor:
        """Answers as ids, ``[len(answers)]``: equal answers have equal ids."""
        ids = []
        for position, answer in enumerate(answers):
            try:
                key = exact(answer)
                ids.append(self._intern(integers(key, self._width) if self.vectorised else key, answer))
            except ConstraintError as error:
                raise ConstraintError(f"Example {position}: {error}") from error
        return torch.tensor(ids, dtype=torch.long)

    @property
    def known(self) -> int:
        """How many answers have ids so far."""
        return len(self._answers)

    def answer(self, y: Tensor) -> Any:
        return self._answers[int(y)]

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        if not self.vectorised:
            return self.answer_ids(z) == y
        rows, defined = self._values(z)
        return (rows == self.numbers(y)).all(-1) & defined

    def numbers(self, y: Tensor) -> Tensor:
        """The whole numbers ``[…, width]`` that a vectorised program's answers are made of.

        >>> rule = Program(lambda a, b: (a + b, a * b), Categorical([range(5)] * 2), vectorised=True)
        >>> rule.numbers(rule.encode([(5, 6), (4, 4)])).tolist()
        [[5, 6], [4, 4]]
        """
        return self._row_table(y.device)[y]

    def admissible(self, z: Tensor) -> Tensor:
        return self._values(z)[1] if self.vectorised else self.answer_ids(z) != NO_ANSWER

    def answer_ids(self, z: Tensor) -> Tensor:
        """The id of each state's answer; −1 where it has none."""
        if self.vectorised:
            rows, defined = self._values(z)
            distinct, inverse = torch.unique(rows, dim=0, return_inverse=True)
            ids = torch.tensor([self._intern(tuple(row)) for row in distinct.tolist()], device=z.device)
            return torch.where(defined, ids[inverse], NO_ANSWER)
        states = [tuple(row) for row in z.tolist()]
        for codes in dict.fromkeys(states):
            if codes not in self._cache:
                self._cache[codes] = self._evaluate(codes)
        return torch.tensor([self._cache[codes] for codes in states], device=z.device, dtype=torch.long)

    def _values(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """A vectorised program's answers as whole numbers ``[rows, width]``, and which of them are defined."""
        result = self.function(*self.space.arguments(z))
        columns = list(result) if isinstance(result, tuple | list) else [result]
        if not all(isinstance(c, Tensor) and c.shape == z.shape[:1] and not c.is_floating_point() for c in columns):
            given = [(str(c.dtype), tuple(c.shape)) if isinstance(c, Tensor) else type(c).__name__ for c in columns]
            raise ConstraintError(
                f"The vectorised rule returned {given} for {len(z)} states; expected one integer tensor, or a tuple of "
                f"them, of shape ({len(z)},). A rule that works on one state at a time needs vectorised=False."
            )
        if len(columns) > 1 and columns[-1].dtype == torch.bool:
            defined = columns.pop()
        else:
            defined = torch.ones(len(z), dtype=torch.bool, device=z.device)
        return torch.stack([c.long() for c in columns], -1), defined

    def _evaluate(self, codes: tuple[int, ...]) -> int:
        symbols = [alphabet[c] for alphabet, c in zip(self.space.alphabets, codes, strict=True)]
        try:
            answer = self.function(*symbols)
        except ArithmeticError:
            return NO_ANSWER
        except Exception as error:
            raise ConstraintError(
                f"The rule failed on the state {symbols!r}: {type(error).__name__}: {error}. It must return an answer "
                "for every state, or None where there is none."
            ) from error
        return NO_ANSWER if answer is None else self._intern(exact(answer))

    def _intern(self, key: Hashable, answer: Any = None) -> int:
        if key not in self._ids:
            with INTERNING:
                if key not in self._ids:
                    self._answers.append(key)
                    self._rows.clear()
                    self._ids[key] = len(self._answers) - 1
        if answer is not None:
            self._answers[self._ids[key]] = answer  # shown as the user wrote it
        return self._ids[key]

    def _row_table(self, device: torch.device) -> Tensor:
        with INTERNING:
            if device not in self._rows:
                rows = torch.tensor(list(self._ids), dtype=torch.long, device=device)
                self._rows[device] = rows.reshape(-1, self._width)
            return self._rows[device]
