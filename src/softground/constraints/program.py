r"""A rule given as a program z → y: S_y is the set of states that the program maps to y.

The function takes one argument per site. A *plain* one gets the symbols of one state and returns its answer; ``None``,
or an arithmetic error such as a division by zero, means that the state has none. The latest results are cached by
state. A *vectorised* one gets one long tensor per site (the symbols if they are ints, else their positions in the
site's alphabet) and returns a tensor of whole numbers, or a tuple of them: (numerator, denominator) in lowest terms for
rationals, one tensor per entry for tuples. With ``partial=True`` the tuple ends with a bool tensor: which states have
an answer.

An answer may be a relation (:mod:`~softground.constraints.relations`): S_y then contains the states whose answers it
admits. For any other tie between value and answer, give ``relation(value, answer)``.

>>> from softground.spaces import Categorical
>>> space = Categorical([range(10), range(10)])
>>> total = Program(lambda a, b: a + b, space)
>>> y = total.encode([18, 3])
>>> total.feasible(space.encode([(9, 9), (1, 1)]), y).tolist()
[True, False]
"""

import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..errors import ConstraintError
from ..spaces.categorical import Categorical
from .answers import INTERNING, RELATIONS, Interned, distinct_rows, remember_in
from .base import Constraint, of_symbols
from .exact import exact, integers, outline, shaped
from .relations import Between, admits, kinds_of, met, misfit, pattern, tests

NO_ANSWER = -1
AGAIN, AGAIN_SECONDS = 64, 0.2  # states to evaluate twice, and for how many seconds at most
ASKED = 1024  # states whose answers show what types answers have
CACHE_LIMIT = 2**18  # states of a plain rule to cache; one of length 7 takes about 200 bytes


class Program(Constraint):
    """The constraint z ∈ S_y ⇔ function(z) = y, for a function of one argument per site.

    With ``relation`` it is z ∈ S_y ⇔ relation(function(z), y). The relation gets a value and an answer in their exact
    form; that of a vectorised program gets tensors of values and one answer, and returns a bool tensor.

    >>> space = Categorical([range(10), range(10)])
    >>> near = Program(lambda a, b: a + b, space, relation=lambda value, y: abs(value - y) <= 1)
    >>> near.feasible(space.encode([(9, 9), (1, 1)]), near.encode([17, 4])).tolist()
    [True, False]
    """

    def __init__(
        self,
        function: Callable[..., Any],
        space: Categorical,
        *,
        relation: Callable[[Any, Any], Any] | None = None,
        vectorised: bool = False,
        partial: bool = False,
    ) -> None:
        for name, given in (("rule", function), ("relation", relation or str)):
            if not callable(given):
                raise ConstraintError(
                    f"{given!r} was given as a program's {name}; expected a function of the symbols, such as "
                    "lambda a, b: a + b, or of symbols' answer and the given one."
                )
        self.function, self.space, self.relation, self.vectorised = function, of_symbols(space), relation, vectorised
        self.partial, self.masked = partial, False
        # Answers are equal if their keys are: a plain program's exact answer, a vectorised one's row of whole numbers.
        # The first answer given is the form in which to show computed ones, and in which relations read a vectorised
        # rule's whole numbers. So the answers given to a vectorised rule must agree on it.
        self.numbering = self.answers = Interned()
        self.form: Any = None
        self._cache: dict[tuple[int, ...], int] = {}
        self._rows: dict[torch.device, Tensor] = {}
        self.width = self._values(torch.zeros(1, space.sites, dtype=torch.long))[0].shape[1] if vectorised else 1

    def encode(self, answers: Sequence[Any]) -> Tensor:
        """Answers as ids, ``[len(answers)]``: equal answers have equal ids."""
        read = met if self.relation is not None else self._formed if self.vectorised else None
        return self.answers.encode(answers, self._key, read, self.misfit)

    def _formed(self, answer: object) -> object:
        """Check that an answer's relations have the form of the vectorised rule's answers; return it."""
        for part in tests(answer):
            entries = self.form if isinstance(self.form, tuple) else (0,) * self.width
            if isinstance(part, Between):
                integers(int(part.high if part.low is None else part.low), self.width)  # refuses more than two
            self._agree(0 if isinstance(part, Between) else entries, part)
        return answer

    def _agree(self, form: Any, answer: object) -> None:
        self.form = form if self.form is None else self.form
        if outline(form) != outline(self.form):
            given = ("a number", "a tuple")
            raise ConstraintError(
                f"The answer {answer!r} reads the rule's {self.width} whole number(s) as "
                f"{given[isinstance(form, tuple)]}, one before it as {given[isinstance(self.form, tuple)]}, such as "
                f"{self.form!r}. Give all in one form: Fraction(3, 4), not (3, 4), where the rule gives rationals."
            )

    def _key(self, answer: object) -> Hashable:
        key = exact(answer)
        if self.vectorised and self.masked and not isinstance(key, tuple):
            raise ConstraintError(
                f"The answer {answer!r} was given to a vectorised rule that returns a number and a Boolean; expected a "
                "tuple of both. If the Boolean says which states have an answer, say so: Program(…, partial=True)."
            )
        row = integers(key, self.width) if self.vectorised else key
        if self.form is None:
            self.form = answer if isinstance(answer, bool) else key
        if self.vectorised:
            self._agree(key, answer)
        return row

    @property
    def negates(self) -> bool:
        return self.answers.negates

    @property
    def known(self) -> int:
        """The number of answers that have ids so far."""
        return len(self.answers.keys)

    def answer(self, y: Tensor) -> Any:
        return self._written(int(y))

    def misfit(self, y: Tensor) -> str:
        if self.relation is not None or self.vectorised:  # integers() checks the width of vectorised answers
            return ""
        answer, values, chance = pattern(self.answer(y)), list[Any](), torch.Generator().manual_seed(0)
        for row in self.space.random(ASKED, chance).tolist():
            if (number := self._answer_id(tuple(row), True)) != NO_ANSWER:
                values.append(self.answers.keys[number])
                if not misfit(answer, values):
                    return ""
        return misfit(answer, values)

    def check_steady(self) -> None:
        """Refuse a plain function whose answer differs when called again."""
        began = time.monotonic()
        asked = [] if self.vectorised else self.space.random(AGAIN, torch.Generator().manual_seed(1)).tolist()
        for codes in map(tuple, asked):
            first, second = self._evaluate(codes), self._evaluate(codes)
            if first != second:
                one, other = (None if i == NO_ANSWER else self._written(i) for i in (first, second))
                raise ConstraintError(
                    f"The rule was asked twice about {self.space.decode(torch.tensor([codes]))[0]!r} and answered "
                    f"{one!r}, then {other!r}. It must give a state the same answer each time."
                )
            if time.monotonic() - began > AGAIN_SECONDS:
                return

    def compute(self, z: Tensor) -> list[Any]:
        """The program's answers; None for a state without one.

        >>> space = Categorical([range(10), range(1, 10)])
        >>> rule = Program(lambda a, b: a // b if a % b == 0 else None, space)
        >>> rule.compute(space.encode([(8, 2), (8, 3)]))
        [4, None]
        """
        return [None if i == NO_ANSWER else self._written(i) for i in self.answer_ids(z).tolist()]

    def _written(self, number: int) -> Any:
        """An answer as the user gave it, or in the form of the given ones."""
        if number in self.answers.given:
            return self.answers.given[number]
        if not 0 <= number < RELATIONS:  # part of a relation that was given
            return self.answers.pattern(number)
        key = self.answers.keys[number]
        answer = shaped(key, self.form) if self.vectorised else key
        return bool(answer) if isinstance(self.form, bool) and answer in (0, 1) else answer

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        if not self.vectorised:
            return self.explained(self.answer_ids(z), y)
        rows, defined = self._values(z)
        if self.answers.inexact(y) is None:
            return (rows == self.numbers(y)).all(-1) & defined
        return self._each(rows, defined, y)

    def explained(self, ids: Tensor, y: Tensor) -> Tensor:
        """Whether states whose answers have these ids, −1 for none, are feasible for y: ``[rows]``."""
        if self.answers.inexact(y) is None:
            return ids == y
        return self._each(self.numbers(ids.clamp(min=0)) if self.vectorised else ids, ids != NO_ANSWER, y)

    def admitted(self, y: int) -> Tensor:
        """Whether y admits each known answer, and at the end whether it admits no answer: ``[known + 1]``."""
        ids = torch.arange(self.known + 1)
        ids[-1] = NO_ANSWER
        return self.explained(ids, torch.full_like(ids, y))

    def _each(self, values: Tensor, defined: Tensor, y: Tensor) -> Tensor:
        """Whether each y admits its row of values: ids, or whole numbers of a vectorised program."""
        found = torch.zeros_like(defined)
        for number in torch.unique(y).tolist():
            at = y == number
            found[at] = admits(self, self.answers.pattern(number), values[at], defined[at])
        return found

    def numbers(self, y: Tensor) -> Tensor:
        """The whole numbers ``[…, width]`` of a vectorised program's answers.

        >>> rule = Program(lambda a, b: (a + b, a * b), Categorical([range(5)] * 2), vectorised=True)
        >>> rule.numbers(rule.encode([(5, 6), (4, 4)])).tolist()
        [[5, 6], [4, 4]]
        """
        with INTERNING:
            if y.device not in self._rows or len(self._rows[y.device]) < self.known:
                rows = torch.tensor(self.answers.keys, dtype=torch.long, device=y.device)
                self._rows[y.device] = rows.reshape(-1, self.width)
            return self._rows[y.device][y]

    def admissible(self, z: Tensor) -> Tensor:
        return self._values(z)[1] if self.vectorised else self.answer_ids(z) != NO_ANSWER

    def answer_ids(self, z: Tensor, *, remember: bool = True) -> Tensor:
        """The id of each state's answer, or −1 without an answer. ``remember`` caches those of a plain rule."""
        if self.vectorised:
            rows, defined = self._values(z)
            distinct, inverse = distinct_rows(rows)
            ids = torch.tensor([self.answers.number(tuple(row)) for row in distinct.tolist()], device=z.device)
            return torch.where(defined, ids[inverse], NO_ANSWER)
        found = [self._answer_id(tuple(row), remember) for row in z.tolist()]
        return torch.tensor(found, device=z.device, dtype=torch.long)

    def _answer_id(self, codes: tuple[int, ...], remember: bool) -> int:
        known = self._cache.get(codes)
        if known is None:
            known = self._evaluate(codes)
            if remember:
                remember_in(self._cache, codes, known, CACHE_LIMIT)
        return known

    def _values(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """A vectorised program's answers as whole numbers ``[rows, width]``, and which are defined."""
        result = self.function(*self.space.arguments(z))
        columns = list(result) if isinstance(result, tuple | list) else [result]
        if not all(isinstance(c, Tensor) and c.shape == z.shape[:1] and not c.is_floating_point() for c in columns):
            given = [(str(c.dtype), tuple(c.shape)) if isinstance(c, Tensor) else type(c).__name__ for c in columns]
            raise ConstraintError(
                f"The vectorised rule returned {given} for {len(z)} states; expected one integer tensor, or a tuple of "
                f"them, of shape ({len(z)},). A rule that works on one state at a time needs vectorised=False."
            )
        if self.partial and (len(columns) < 2 or columns[-1].dtype != torch.bool):
            raise ConstraintError(
                f"The vectorised rule with partial=True returned {len(columns)} tensor(s), the last of them "
                f"{columns[-1].dtype}; expected an answer and, last, a bool tensor of the states that have one."
            )
        self.masked = not self.partial and len(columns) == 2 and columns[-1].dtype == torch.bool
        defined = columns.pop() if self.partial else torch.ones(len(z), dtype=torch.bool, device=z.device)
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
        if answer is None:
            return NO_ANSWER
        if (key := exact(answer)) not in self.answers.ids:
            self.answers.kinds.add(kinds_of(key))
        return self.answers.number(key)
