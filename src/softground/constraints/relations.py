r"""Relations: partial knowledge of an answer.

A relation stands for a set of answers. S_y contains the states whose answer is in that set:

=====================  ========================================================================================
``None``               the answer is unknown: S_y is the whole space
``OneOf(3, 4)``        it is one of these
``Between(10, 20)``    it is a number from 10 to 20, both included; either end may be None
``Contains(7)``        it is a tuple with this entry, or a text with this part
``Not(7)``             it is not this: S_y is the **complement** of the other, with the states without an answer
=====================  ========================================================================================

They nest: ``Not(OneOf(3, 4))``, ``OneOf(0, Between(10, None))``. :func:`admits` tests which of a rule's values a
relation admits. Only this file and the rules' own languages look inside a relation.

>>> Not(OneOf(3, Between(10, None))) == Not(OneOf(3.0, Between(10, None)))
True
>>> print(Not(OneOf(3, Between(10, None))))
not (3 or at least 10)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from ..errors import ConstraintError
from .exact import exact, integers, shaped

T = TypeVar("T", bound=Any)


class Relation:
    """A set of possible answers. Equal relations have equal hashes and texts."""

    def leaves(self) -> Iterator[Hashable]:
        """The answers that it names."""
        return iter(())

    def admits(self, answer: Hashable) -> bool:
        """Whether it admits an exact answer; for relations without nested ones."""
        raise NotImplementedError


@dataclass(frozen=True, init=False)
class OneOf(Relation):
    """The answer is one of these, or meets one of these relations; one list, set or range also works.

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
            raise ConstraintError(
                "Between() was given without a bound; expected one or two. Write None for an unknown answer."
            )
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ConstraintError(f"{self!r} was given, which holds no number: give the lower bound first.")

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"at most {self.high}" if self.low is None else f"at least {self.low}"
        return f"{self.low} to {self.high}"

    def admits(self, answer: object) -> bool:
        return (
            isinstance(answer, int | Fraction)
            and (self.low is None or bool(answer >= self.low))
            and (self.high is None or bool(answer <= self.high))
        )


@dataclass(frozen=True)
class Contains(Relation):
    """The answer is a tuple or a set with this entry, or a text with this part.

    >>> Contains(7).admits((1, 7)), Contains("ab").admits("cab"), Contains(7).admits(7)
    (True, True, False)
    """

    element: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "element", exact(self.element))

    def __str__(self) -> str:
        return f"contains {self.element}"

    def admits(self, answer: object) -> bool:
        if isinstance(answer, str):
            return isinstance(self.element, str) and self.element in answer
        return isinstance(answer, tuple | frozenset) and self.element in answer


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
    """The set of values for which a rule's own ``relation(value, answer)`` holds."""

    answer: Hashable


def pattern(answer: object) -> Hashable:
    """An answer as rules compare it: a relation, None, or its exact form."""
    return answer if answer is None or isinstance(answer, Relation) else exact(answer)


def in_words(answer: object) -> str:
    """An answer as reports show it.

    >>> in_words(None), in_words(7), in_words(Contains(7))
    ('unknown', '7', 'contains 7')
    """
    return "unknown" if answer is None else str(answer)


def kind(answer: object) -> str:
    """The type of an exact answer, or of the answers that a relation names.

    >>> kind(Fraction(7, 2)), kind("3h"), kind((1, 2)), kind(Between(1, 2))
    ('a number', 'a text', 'a tuple of 2', 'a number')
    """
    if isinstance(answer, tuple):
        return f"a tuple of {len(answer)}"
    if isinstance(answer, date | frozenset):
        return "a set" if isinstance(answer, frozenset) else "a date"
    return "a text" if isinstance(answer, str) else "a number"


def kinds_of(answer: object) -> frozenset[str]:
    """The kinds of the answers that an exact answer or a relation names; empty if any kind may meet it."""
    if isinstance(answer, OneOf):
        parts = [kinds_of(part) for part in answer.answers]
        return frozenset() if frozenset() in parts else frozenset[str]().union(*parts)
    return frozenset() if isinstance(answer, Contains | Not | None) else frozenset([kind(answer)])


def misfit(answer: object, values: Sequence[object]) -> str:
    """How an answer's type differs from those of the rule's ``values``; empty if it does not.

    >>> misfit((3, 4), [7, 9])
    'a tuple of 2, where the rule gives a number, such as 7'
    >>> misfit(OneOf(3, "x"), [7, 9]), misfit(OneOf(), [7, 9])
    ('', '')
    """
    wanted, named = dict.fromkeys(map(kind, values)), kinds_of(answer)
    if not wanted or not named or named & {*wanted}:
        return ""
    return f"{' or '.join(sorted(named))}, where the rule gives {' or '.join(wanted)}, such as {values[0]!r}"


def complements(answer: object) -> Iterator[Not]:
    """All complements nested in an answer."""
    if isinstance(answer, Not):
        yield answer
    for part in (answer.answer,) if isinstance(answer, Not) else getattr(answer, "answers", ()):
        yield from complements(part)


def tests(answer: object) -> Iterator[Relation]:
    """All ``Between`` and ``Contains`` nested in an answer."""
    if isinstance(answer, Between | Contains):
        yield answer
    for part in (answer.answer,) if isinstance(answer, Not) else getattr(answer, "answers", ()):
        yield from tests(part)


def resolve(answer: object, leaf: Callable[[Hashable], T], test: Callable[[Relation], T], everything: T) -> T:
    """Convert an answer to a tensor or formula with the operators ``|`` and ``~``.

    ``leaf`` converts an exact answer, ``test`` a relation without nested ones.
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


class Computes(Protocol):
    """A rule that computes answers: a :class:`~softground.Program`."""

    vectorised: bool
    width: int
    form: Any
    relation: Callable[[Any, Any], Any] | None
    answers: Any


def admits(rule: Computes, answer: object, values: Tensor, defined: Tensor) -> Tensor:
    """Whether an answer admits each of the ``values``, bool ``[rows]``: ids, or a vectorised program's whole numbers.

    Values that are not ``defined`` belong to states without an answer; only a complement admits them.
    """

    def leaf(key: Hashable) -> Tensor:
        if rule.vectorised:
            return (values == torch.tensor(integers(key, rule.width), device=values.device)).all(-1) & defined
        number: int = rule.answers.ids.get(key, -1)
        return defined & (values == number)

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


def met(answer: object) -> Any:
    """Wrap an answer for a program's own relation."""
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


def _holds(rule: Computes, relation: Relation, value: Any) -> bool:
    """Whether a relation holds of one value."""
    if rule.vectorised:
        return relation.admits(exact(shaped(value, rule.form)))
    key = rule.answers.keys[value]
    return bool(_related(rule, key, relation.answer)) if isinstance(relation, Meets) else relation.admits(key)


def _related(rule: Computes, value: object, answer: Hashable) -> Any:
    """Call the program's own relation."""
    try:
        return rule.relation(value, answer)  # type: ignore[misc]
    except Exception as error:
        raise ConstraintError(
            f"The relation failed for the answer {answer!r}: {type(error).__name__}: {error}. It must say of any value "
            f"of the rule{', given as tensors,' * rule.vectorised} whether the answer fits."
        ) from error


def _checked(verdict: object, like: Tensor) -> Tensor:
    if not isinstance(verdict, Tensor) or verdict.shape != like.shape:
        given = f"shape {tuple(verdict.shape)}" if isinstance(verdict, Tensor) else type(verdict).__name__
        raise ConstraintError(
            f"The relation of a vectorised rule returned {given}; expected a bool tensor of shape {tuple(like.shape)}. "
            "A relation that works on one value at a time needs vectorised=False."
        )
    return verdict.bool()
