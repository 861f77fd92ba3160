r"""Answers: what a user may give as y, what is known of one that is not given, and the numbers that stand for them.

Feasibility is decided by equality of exact values, never by a float tolerance. Ints, bools,
:class:`fractions.Fraction`, strings and tuples of these are exact; of floats only whole numbers are.

A **relation** stands for a set of answers, and S_y is all states whose answer is in that set:

=====================  ========================================================================================
``None``               the answer is unknown: S_y is the whole space
``OneOf(3, 4)``        it is one of these
``Between(10, 20)``    it is a number from 10 to 20, both included; either end may be None
``Contains(7)``        it is a tuple with this entry, or a text with this part
``Not(7)``             it is not this: S_y is the **complement** of the other one, states without an answer included
=====================  ========================================================================================

They may be put into one another: ``Not(OneOf(3, 4))``, ``OneOf(0, Between(10, None))``.

>>> Not(OneOf(3, Between(10, None))) == Not(OneOf(3.0, Between(10, None)))
True
>>> print(Not(OneOf(3, Between(10, None))))
not (3 or at least 10)

By **number**, a batch of answers is a tensor. Exact ones are 0, 1, 2, … in the order in which they were first seen, and
relations :data:`RELATIONS` and above. A negative number is a complement: ~c, that is −1 − c, stands for all states that
c does not explain. The first relation is 'none of all', which explains nothing; its complement is the unknown answer,
which explains everything. Of the values that a rule can have, :func:`admits` says which an answer stands for: a set, or
all but a set. Nothing outside this file and the rules' own languages takes a relation apart.
"""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import islice
from operator import or_
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor

from ..errors import ConstraintError

if TYPE_CHECKING:
    from .program import Program

T = TypeVar("T", bound=Any)
INTERNING = threading.RLock()
"""Held while a rule learns of new answers, whose numbers depend on their order. One for all: locks cannot be copied."""
RELATIONS = 2**32
NOTHING, EVERYTHING = RELATIONS, ~RELATIONS


def exact(answer: Any) -> Hashable:
    """The answer in one canonical, hashable, exact form (a zero-dimensional array counts as its number).

    >>> exact(Fraction(4, 2)), exact([1, True]), exact("3h"), exact(7.0)
    (2, (1, 1), '3h', 7)
    """
    if hasattr(answer, "tolist"):  # numpy and torch scalars and arrays
        answer = answer.tolist()
    if isinstance(answer, str):
        return answer
    if isinstance(answer, list | tuple):
        return tuple(exact(a) for a in answer)
    if isinstance(answer, Fraction):
        return answer.numerator if answer.denominator == 1 else answer
    if isinstance(answer, float) and answer.is_integer():
        return int(answer)
    if isinstance(answer, float):
        raise ConstraintError(
            f"The answer {answer!r} is a float and no whole number, so it is not exact. Give an int or a "
            "fractions.Fraction (for example Fraction(7, 2) for 3.5), or None where the answer is unknown."
        )
    try:
        return operator.index(answer)
    except TypeError:
        raise ConstraintError(
            f"The answer {answer!r} is a {type(answer).__name__}; expected an int, a fractions.Fraction, a string, "
            "a tuple of these, or a relation such as OneOf(3, 4); None where the answer is unknown."
        ) from None


def integers(answer: Hashable, width: int) -> tuple[int, ...]:
    """An exact answer as ``width`` whole numbers, the row a vectorised rule must return for it.

    An int is itself, a rational its numerator and positive denominator in lowest terms, a tuple its entries one after
    the other. An int is also accepted where the rule returns a pair: it is n/1.

    >>> integers(Fraction(7, 2), 2), integers(3, 2), integers((1, 2, 3), 3)
    ((7, 2), (3, 1), (1, 2, 3))
    """
    row = (answer, 1) if isinstance(answer, int) and width == 2 else _flatten(answer)
    if len(row) != width:
        raise ConstraintError(
            f"The answer {answer!r} is {len(row)} whole number(s), but the vectorised rule returns {width} per state. "
            "Return one tensor for ints, (numerator, denominator) for rationals, one tensor per entry for tuples."
        )
    if any(not -(2**63) <= number < 2**63 for number in row):
        shown = text if len(text := str(answer)) <= 60 else f"{text[:60]}…"
        raise ConstraintError(
            f"The answer {shown} does not fit into 64 bits, which a vectorised rule needs. Give the rule as a plain "
            "Python function."
        )
    return row


def shaped(row: Sequence[int], like: Any) -> Any:
    """A vectorised rule's row of whole numbers in the form of an answer that was given; undoes :func:`integers`.

    >>> shaped((7, 2), Fraction(1, 3)), shaped((7, 2), (1, 3)), shaped((7, 2, 5), (Fraction(1, 3), 4))
    (Fraction(7, 2), (7, 2), (Fraction(7, 2), 5))
    >>> shaped((4,), True), shaped((4, 1), 3), shaped((3, 4), None)
    (4, Fraction(4, 1), (3, 4))
    """
    if like is None:
        return row[0] if len(row) == 1 else tuple(row)
    if isinstance(like, int) and len(row) == 2:
        like = Fraction(like)  # a whole number among rationals
    numbers = iter(row)

    def take(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(take(entry) for entry in part)
        return Fraction(next(numbers), next(numbers)) if isinstance(part, Fraction) else next(numbers)

    return take(like)


def _flatten(answer: Hashable) -> tuple[int, ...]:
    match answer:
        case int():
            return (answer,)
        case Fraction():
            return (answer.numerator, answer.denominator)
        case tuple():
            return tuple(n for part in answer for n in _flatten(part))
    raise ConstraintError(
        f"The answer {answer!r} cannot be written as whole numbers, which a vectorised rule needs. Give the rule as a "
        "plain Python function (vectorised=False)."
    )


class Relation:
    """What is known of an answer; equal relations are equal, have one hash and are written alike."""

    def leaves(self) -> Iterator[Hashable]:
        """The answers that it names."""
        return iter(())

    def admits(self, answer: Hashable) -> bool:
        """Whether it holds of an exact answer; for relations that are made of no others."""
        raise NotImplementedError


@dataclass(frozen=True, init=False)
class OneOf(Relation):
    """The answer is one of these answers, or meets one of these relations; they may come as one list, set or range.

    >>> OneOf(3, 4.0), OneOf([3, 4]), str(OneOf(3, 4))
    (OneOf(3, 4), OneOf(3, 4), '3 or 4')
    """

    answers: tuple[Hashable, ...]

    def __init__(self, *answers: Any) -> None:
        if len(answers) == 1 and isinstance(answers[0], list | set | frozenset | range):
            answers = tuple(sorted(answers[0], key=repr) if isinstance(answers[0], set | frozenset) else answers[0])
        object.__setattr__(self, "answers", tuple(pattern(answer) for answer in answers))

    def __repr__(self) -> str:
        return f"OneOf({', '.join(map(repr, self.answers))})"

    def __str__(self) -> str:
        return " or ".join(map(in_words, self.answers)) or "none at all"

    def leaves(self) -> Iterator[Hashable]:
        for answer in self.answers:
            if answer is not None:
                yield from answer.leaves() if isinstance(answer, Relation) else (answer,)


@dataclass(frozen=True)
class Between(Relation):
    """The answer is a number from ``low`` to ``high``, both included; None leaves an end open.

    >>> [str(Between(10, 20)), str(Between(10)), str(Between(None, 19))]
    ['10 to 20', 'at least 10', 'at most 19']
    """

    low: Any = None
    high: Any = None

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            bound = getattr(self, name)
            if bound is not None:
                object.__setattr__(self, name, exact(bound))
                if not isinstance(exact(bound), int | Fraction):
                    raise ConstraintError(f"Between({name}={bound!r}) was given; expected a number, or None.")
        if self.low is None and self.high is None:
            raise ConstraintError("Between() was given without a bound; an answer that is unknown is written None.")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ConstraintError(f"{self!r} was given, which holds no number: give the lower bound first.")

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"at most {self.high}" if self.low is None else f"at least {self.low}"
        return f"{self.low} to {self.high}"

    def admits(self, answer: Any) -> bool:
        return (
            isinstance(answer, int | Fraction)
            and (self.low is None or bool(answer >= self.low))
            and (self.high is None or bool(answer <= self.high))
        )


@dataclass(frozen=True)
class Contains(Relation):
    """The answer is a tuple with this entry, or a text with this part.

    >>> Contains(7).admits((1, 7)), Contains("ab").admits("cab"), Contains(7).admits(7)
    (True, True, False)
    """

    element: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "element", exact(self.element))

    def __str__(self) -> str:
        return f"contains {self.element}"

    def admits(self, answer: Any) -> bool:
        if isinstance(answer, str):
            return isinstance(self.element, str) and self.element in answer
        return isinstance(answer, tuple) and self.element in answer


@dataclass(frozen=True)
class Not(Relation):
    """The answer is not this one, or does not meet this relation: the complement of its S_y."""

    answer: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "answer", pattern(self.answer))

    def __repr__(self) -> str:
        return f"Not({self.answer!r})"

    def __str__(self) -> str:
        words = in_words(self.answer)
        return f"not ({words})" if isinstance(self.answer, OneOf) else f"not {words}"

    def leaves(self) -> Iterator[Hashable]:
        return OneOf(self.answer).leaves()


@dataclass(frozen=True)
class Meets(Relation):
    """What a rule's own ``relation(value, answer)`` says of this answer."""

    answer: Hashable


def pattern(answer: Any) -> Hashable:
    """An answer as rules compare it: a relation, None, or its exact form."""
    return answer if answer is None or isinstance(answer, Relation) else exact(answer)


def in_words(answer: Any) -> str:
    """An answer as reports show it.

    >>> in_words(None), in_words(7), in_words(Contains(7))
    ('unknown', '7', 'contains 7')
    """
    return "unknown" if answer is None else str(answer)


def kind(answer: Any) -> str:
    """What an exact answer is, or is said to be.

    >>> kind(Fraction(7, 2)), kind("3h"), kind((1, 2)), kind(Between(1, 2))
    ('a number', 'a text', 'a tuple of 2', 'a number')
    """
    if isinstance(answer, tuple):
        return f"a tuple of {len(answer)}"
    return "a text" if isinstance(answer, str) else "a number"


def misfit(answer: Any, values: Sequence[Any]) -> str:
    """How an answer's type differs from those of the rule's ``values``; nothing where it does not.

    >>> misfit((3, 4), [7, 9])
    'a tuple of 2, where the rule gives a number, such as 7'
    >>> misfit(OneOf(3, "x"), [7, 9]), misfit(OneOf(), [7, 9])
    ('', '')
    """
    wanted = dict.fromkeys(map(kind, values))
    named = {kind(part) for part in (answer.answers if isinstance(answer, OneOf) else [answer])}
    if not wanted or not named or named & {*wanted} or isinstance(answer, Contains | Not):
        return ""
    return f"{' or '.join(sorted(named))}, where the rule gives {' or '.join(wanted)}, such as {values[0]!r}"


def complements(answer: Any) -> Iterator[Not]:
    """All complements that an answer is made of."""
    if isinstance(answer, Not):
        yield answer
    for part in (answer.answer,) if isinstance(answer, Not) else getattr(answer, "answers", ()):
        yield from complements(part)


def resolve(answer: Any, leaf: Callable[[Hashable], T], test: Callable[[Relation], T], everything: T) -> T:
    """What an answer means, as a tensor or formula on which ``|`` and ``~`` work.

    ``leaf`` gives that of an exact answer, ``test`` that of a relation made of no others.
    """
    match answer:
        case None:
            return everything
        case Not():
            return ~resolve(answer.answer, leaf, test, everything)  # type: ignore[no-any-return]
        case OneOf():
            parts = [resolve(part, leaf, test, everything) for part in answer.answers]
            return reduce(or_, parts) if parts else ~everything  # type: ignore[no-any-return]
        case Relation():
            return test(answer)
    return leaf(answer)


class Interned:
    """The answers a rule has seen; equal answers have equal numbers.

    >>> seen = Interned()
    >>> seen.encode([7, 7.0, OneOf(1, 2), Not(7), None]).tolist()
    [0, 0, 4294967297, -1, -4294967297]
    >>> [seen.pattern(number) for number in (0, RELATIONS + 1, -1, EVERYTHING)]
    [7, OneOf(1, 2), Not(7), None]
    """

    def __init__(self) -> None:
        self.ids: dict[Hashable, int] = {}
        self.keys: list[Any] = []  # the exact answers, as the rule compares them
        self.relations: dict[Relation, int] = {OneOf(): 0}
        self.given: dict[int, Any] = {}  # those that the user gave, as they were written
        self.negates = False  # whether one of them was a complement
        self.plain = True  # whether all were exact

    def inexact(self, y: Tensor) -> Tensor | None:
        """Which answers are relations, complements or unknown, ``[rows]`` bool; None for none.

        The device is asked only where some that were seen are.
        """
        found = None if self.plain else (y < 0) | (y >= RELATIONS)
        return found if found is not None and bool(found.any()) else None

    def number(self, key: Hashable) -> int:
        """The number of an exact answer."""
        if key not in self.ids:
            with INTERNING:
                if key not in self.ids:
                    self.keys.append(key)
                    self.ids[key] = len(self.keys) - 1
        return self.ids[key]

    def encode(
        self, answers: Sequence[Any], key: Callable[[Any], Hashable] = exact, read: Callable[[Any], Any] | None = None
    ) -> Tensor:
        """The user's answers as numbers, ``[len(answers)]``; an error of ``key`` is raised with the position.

        ``read`` says what the rule takes an answer for, where that is not the answer itself.
        """
        numbers = []
        for position, answer in enumerate(answers):
            try:
                numbers.append(self.code(answer if read is None else read(answer), key))
            except ConstraintError as error:
                raise ConstraintError(f"Example {position}: {error}") from error
            self.given.setdefault(numbers[-1], answer)
        return torch.tensor(numbers, dtype=torch.long)

    def code(self, answer: Any, key: Callable[[Any], Hashable] = exact) -> int:
        """The number of an answer or a relation."""
        if answer is None:
            self.negates, self.plain = True, False
            return EVERYTHING
        if isinstance(answer, Not):
            self.negates, self.plain = True, False
            return ~self.code(answer.answer, key)
        if isinstance(answer, Relation):
            for leaf in answer.leaves():
                self.number(key(leaf))  # which refuses what the rule cannot compare with
            with INTERNING:
                self.plain = False
                return RELATIONS + self.relations.setdefault(answer, len(self.relations))
        return self.number(key(answer))

    def written(self, key: Hashable, otherwise: Any) -> Any:
        """An exact answer as the user wrote it, where one gave it."""
        return self.given.get(self.ids[key], otherwise) if key in self.ids else otherwise

    def pattern(self, number: int) -> Any:
        """What a number stands for: an exact answer, a relation or None."""
        if number == EVERYTHING:
            return None
        if number < 0:
            return Not(self.pattern(~number))
        return self.keys[number] if number < RELATIONS else list(self.relations)[number - RELATIONS]


def remember_in(cache: dict[Any, Any], key: Hashable, value: Any, limit: int) -> None:
    """Keep a value, and at most ``limit`` of them: the oldest quarter goes where there is no room.

    Not one by one: a dict is looked through from its beginning, where those that went have left their places.
    """
    with INTERNING:
        if len(cache) >= limit:
            for old in list(islice(cache, len(cache) - limit + 1 + limit // 4)):
                del cache[old]
        cache[key] = value


def distinct_rows(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct rows in order, and which of them each row is; quickly where a row fits into one whole number.

    >>> distinct_rows(torch.tensor([[2, -1], [0, 5], [2, -1]]))
    (tensor([[ 0,  5],
            [ 2, -1]]), tensor([1, 0, 1]))
    """
    low, high = (edge.tolist() for edge in torch.aminmax(rows, dim=0)) if len(rows) else ([], [])
    spans = [b - a + 1 for a, b in zip(low, high, strict=True)]
    if not len(rows) or math.prod(spans) >= 2**63:
        return torch.unique(rows, dim=0, return_inverse=True)  # type: ignore[no-any-return]
    key = torch.zeros_like(rows[:, 0])
    for column, first, span in zip(rows.unbind(1), low, spans, strict=True):
        key = key * span + (column - first)
    found, place = torch.unique(key, return_inverse=True)
    distinct = rows.new_empty(len(found), rows.shape[1])
    distinct[place] = rows
    return distinct, place


def admits(rule: Program, answer: Any, values: Tensor, defined: Tensor) -> Tensor:
    """Whether an answer admits each of the ``values``, bool ``[rows]``: ids, or a vectorised program's whole numbers.

    Values that are not ``defined`` are those of states without an answer; only a complement admits these.
    """

    def leaf(key: Hashable) -> Tensor:
        if rule.vectorised:
            return (values == torch.tensor(integers(key, rule.width), device=values.device)).all(-1) & defined
        return defined & (values == rule.answers.ids.get(key, -1))

    def test(relation: Relation) -> Tensor:
        if isinstance(relation, Meets) and rule.vectorised:
            columns = values.unbind(-1)
            verdict = _related(rule, columns[0] if rule.width == 1 else columns, relation.answer)
            return _checked(verdict, defined) & defined
        distinct, place = torch.unique(values[defined], dim=0, return_inverse=True)
        holds = [_holds(rule, relation, value) for value in distinct.tolist()]
        found = torch.zeros_like(defined)
        found[defined] = torch.tensor(holds, dtype=torch.bool, device=values.device)[place]
        return found

    return resolve(answer, leaf, test, torch.ones_like(defined))


def met(answer: Any) -> Any:
    """An answer as a program's own relation reads it."""
    match answer:
        case None:
            return None
        case Not():
            return Not(met(answer.answer))
        case OneOf():
            return OneOf(*map(met, answer.answers))
        case Between() | Contains():
            raise ConstraintError(
                f"The answer {answer!r} was given to a rule with a relation of its own; expected an answer that this "
                "relation takes, one of several (OneOf), not one (Not), or None."
            )
    return Meets(exact(answer))


def _holds(rule: Program, relation: Relation, value: Any) -> bool:
    """Whether a relation holds of one value."""
    if rule.vectorised:
        like = 0 if rule.form is None and isinstance(relation, Between) else rule.form
        return relation.admits(exact(shaped(value, like)))
    key = rule.answers.keys[value]
    return bool(_related(rule, key, relation.answer)) if isinstance(relation, Meets) else relation.admits(key)


def _related(rule: Program, value: Any, answer: Hashable) -> Any:
    """What the program's own relation says."""
    try:
        return rule.relation(value, answer)  # type: ignore[misc]
    except Exception as error:
        raise ConstraintError(
            f"The relation failed for the answer {answer!r}: {type(error).__name__}: {error}. It must say of any value "
            f"of the rule{', given as tensors,' * rule.vectorised} whether the answer fits."
        ) from error


def _checked(verdict: Any, like: Tensor) -> Tensor:
    if not isinstance(verdict, Tensor) or verdict.shape != like.shape:
        given = f"shape {tuple(verdict.shape)}" if isinstance(verdict, Tensor) else type(verdict).__name__
        raise ConstraintError(
            f"The relation of a vectorised rule returned {given}; expected a bool tensor of shape {tuple(like.shape)}. "
            "A relation that works on one value at a time needs vectorised=False."
        )
    return verdict.bool()
