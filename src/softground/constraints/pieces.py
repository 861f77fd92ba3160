r"""The usual parts of rules: sums, counts, all-different groups, orders, lists of combinations, clauses.

A *piece* names sites and what holds of them; :class:`~softground.constraints.All` makes a rule of several. Almost every
piece is a :class:`~softground.constraints.Scan` with a small state, so that sums over its S_y, draws and the mode come
from one recursion, exactly:

=================  =====================================  ==================================================
piece              state after some of its sites          states, of n sites with K symbols
=================  =====================================  ==================================================
``Sum``            the total so far (a convolution)       as many as there are totals
``Count``          how many so far                        n + 1
``AllDifferent``   the set of symbols used (a permanent)  2^K at most
``Increasing``     the last symbol                        K
``Allowed``        which combinations are left            at most their number at each site
``Clause``         whether it holds already               2
=================  =====================================  ==================================================

``Value`` is any function of a few symbols; its combinations are tabulated.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ConstraintError
from ..spaces.categorical import Categorical
from .base import Constraint
from .program import Program
from .scan import Scan


class Next:
    """The next entry of the whole rule's answer."""

    def __repr__(self) -> str:
        return "NEXT"


NEXT = Next()


class Piece(ABC):
    """What holds of some sites, for an answer.

    ``answer`` is :data:`NEXT`, a function of the whole rule's answer, or the same for every example.
    """

    sites: Sequence[int]
    answer: Any = True

    @property
    @abstractmethod
    def kind(self) -> Hashable:
        """Pieces of one kind over the same alphabets have one rule."""

    @abstractmethod
    def rule(self, space: Categorical) -> Constraint:
        """The rule over a space of the piece's sites alone."""

    def __str__(self) -> str:
        return f"{type(self).__name__} of the sites {', '.join(map(str, self.sites))}"


@dataclass(frozen=True)
class Sum(Piece):
    """The symbols add up to the answer, or to one that it admits, such as ``Between(10, 20)``.

    >>> space = Categorical([range(-3, 4), (0, 5)])
    >>> Sum([0, 1]).rule(space).compute(space.encode([(-3, 5), (2, 0)]))
    [2, 2]
    """

    sites: Sequence[int]
    answer: Any = NEXT

    @property
    def kind(self) -> Hashable:
        return Sum

    def rule(self, space: Categorical) -> Scan:
        if strange := [s for s in space.symbols if not isinstance(s, int)]:
            raise ConstraintError(f"{self} was given, one of which may show {strange[0]!r}; only whole numbers add up.")
        plain = all(type(s) is int and s >= 0 for s in space.symbols)  # a vectorised scan's states are not negative
        return Scan(operator.add, space, vectorised=plain)


@dataclass(frozen=True)
class Count(Piece):
    """So many of the sites show one of the ``symbols``.

    >>> space = Categorical(["abc"] * 3)
    >>> Count([0, 1, 2], "ab").rule(space).compute(space.encode(["abc", "ccc"]))
    [2, 0]
    """

    sites: Sequence[int]
    symbols: Iterable[Hashable]
    answer: Any = NEXT

    @property
    def kind(self) -> Hashable:
        return Count, frozenset(self.symbols)

    def rule(self, space: Categorical) -> Scan:
        counted = frozenset(self.symbols)
        return Scan(lambda count, symbol: count + (symbol in counted), space)


@dataclass(frozen=True)
class Value(Piece):
    """A function of the symbols, one argument for each site, gives the answer; see :class:`~softground.Program`."""

    sites: Sequence[int]
    function: Callable[..., Any]
    answer: Any = NEXT
    vectorised: bool = False

    @property
    def kind(self) -> Hashable:
        return Value, self.function

    def rule(self, space: Categorical) -> Program:
        return Program(self.function, space, vectorised=self.vectorised)


@dataclass(frozen=True)
class AllDifferent(Piece):
    """No two of the sites show the same symbol."""

    sites: Sequence[int]

    @property
    def kind(self) -> Hashable:
        return AllDifferent

    def rule(self, space: Categorical) -> Scan:
        bits = {symbol: 1 << bit for bit, symbol in enumerate(space.symbols)}
        if len(bits) < space.sites:
            raise ConstraintError(
                f"{self} was given, which show {len(bits)} different symbols between them: {space.sites} sites cannot "
                "all differ. Name fewer sites, or give them larger alphabets."
            )
        return _true(lambda used, symbol: None if used & bits[symbol] else used | bits[symbol], space, 0)


@dataclass(frozen=True)
class Increasing(Piece):
    """The symbols rise from each site to the next; without ``strict`` they may stay the same."""

    sites: Sequence[int]
    strict: bool = True

    @property
    def kind(self) -> Hashable:
        return Increasing, self.strict

    def rule(self, space: Categorical) -> Scan:
        def step(last: tuple[Any, ...], symbol: Any) -> tuple[Any, ...] | None:
            rises = not last or last[0] < symbol or (not self.strict and last[0] == symbol)
            return (symbol,) if rises else None

        return _true(step, space, ())


@dataclass(frozen=True)
class Allowed(Piece):
    """The sites show one of the ``combinations``, each a symbol for every site."""

    sites: Sequence[int]
    combinations: Iterable[Sequence[Hashable]]

    @property
    def kind(self) -> Hashable:
        return Allowed, frozenset(map(tuple, self.combinations))

    def rule(self, space: Categorical) -> Scan:
        combinations = sorted(set(map(tuple, self.combinations)), key=repr)
        space.encode(combinations)  # which refuses those that are no states

        def step(left: tuple[tuple[Any, ...], ...], symbol: Any) -> tuple[tuple[Any, ...], ...] | None:
            return tuple(rest[1:] for rest in left if rest[0] == symbol) or None

        return _true(step, space, tuple(combinations))


@dataclass(frozen=True)
class Clause(Piece):
    """At least one of the literals holds: ``Clause({3: 1, 5: 0})`` for x₃ ∨ ¬x₅, by site the symbol it should show."""

    literals: Mapping[int, Hashable]

    @property
    def sites(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(self.literals)

    @property
    def kind(self) -> Hashable:
        return Clause, tuple(self.literals.values())

    def rule(self, space: Categorical) -> Scan:
        wanted = tuple(self.literals.values())
        space.encode([wanted])  # which refuses symbols that a site cannot show
        return _true(lambda holds, symbol, site: holds or symbol == wanted[site], space, False, lambda holds: holds)


def _true(
    step: Callable[..., Any], space: Categorical, start: Hashable, holds: Callable[[Any], bool] = lambda state: True
) -> Scan:
    """A scan whose one answer is True, for the final states that hold."""
    return Scan(step, space, start=start, accept=lambda state, y: bool(y) and holds(state))
