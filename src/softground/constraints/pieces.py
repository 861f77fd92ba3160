r"""Rules made of pieces, each about some of the sites: S_y = ∩ S_y^c.

A *piece* constrains some sites; :class:`~softground.constraints.All` makes a rule of several. Almost every piece is a
:class:`~softground.constraints.Scan` with a small state, so one recursion gives exact sums over its S_y, draws and the
mode:

=================  =====================================  ==================================================
piece              state after some of its sites          number of states, for n sites with K symbols
=================  =====================================  ==================================================
``Sum``            the total so far (a convolution)       number of totals
``Count``          the count so far                       n + 1
``AllDifferent``   the set of symbols used (a permanent)  2^K at most
``Increasing``     the last symbol                        K
``Allowed``        the remaining combinations             at most their number at each site
``Clause``         whether it holds already               2
=================  =====================================  ==================================================

``Value`` is any function of a few symbols, by a table of their combinations.

>>> from softground.constraints import AllDifferent, Between, Sum
>>> space = Categorical([range(10)] * 4)  # a square of 2×2 digits: sums of its rows, then of its columns
>>> square = All([Sum([0, 1]), Sum([2, 3]), Sum([0, 2]), Sum([1, 3])], space)
>>> z = space.encode([(1, 2, 3, 4), (2, 1, 3, 4)])
>>> square.feasible(z, square.encode([(3, 7, 4, 6), (3, 7, 4, 6)])).tolist(), square.compute(z)
([True, False], [(3, 7, 4, 6), (3, 7, 5, 5)])

Entries of an answer may be relations, such as ``(3, None, Between(1, 5), 6)``. If the answer is not such a tuple,
``answer`` extracts a piece's part of it:

>>> magic = All([Sum([0, 1], answer=lambda y: y), Sum([2, 3], answer=lambda y: y), AllDifferent([0, 1, 2, 3])], space)
>>> magic.feasible(space.encode([(1, 4, 3, 2), (2, 3, 2, 3)]), magic.encode([5, 5])).tolist()
[True, False]
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..errors import ConstraintError
from ..spaces.categorical import Categorical
from .answers import INTERNING, Interned
from .base import Constraint, Part
from .program import Program
from .relations import Relation, pattern
from .scan import Scan


class Next:
    """The next entry of the whole rule's answer."""

    def __repr__(self) -> str:
        return "NEXT"


NEXT = Next()


class Piece(ABC):
    """A constraint on some sites. ``answer`` is :data:`NEXT`, a function of the whole rule's answer, or a constant."""

    sites: Sequence[int]
    answer: Any = True

    @property
    @abstractmethod
    def kind(self) -> Hashable:
        """A key: pieces of equal kind and alphabets share one rule."""

    @abstractmethod
    def rule(self, space: Categorical) -> Constraint:
        """The rule over a space of the piece's sites only."""

    def __str__(self) -> str:
        return f"{type(self).__name__} of the sites {', '.join(map(str, self.sites))}"


@dataclass(frozen=True)
class Sum(Piece):
    """The symbols add up to the answer, or to a total that it admits, such as ``Between(10, 20)``.

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
            raise ConstraintError(
                f"{self} was given, with the symbol {strange[0]!r}; expected whole numbers, to add up."
            )
        plain = all(type(s) is int and s >= 0 for s in space.symbols)  # a vectorised scan's states are not negative
        return Scan(operator.add, space, vectorised=plain)


@dataclass(frozen=True)
class Count(Piece):
    """A given number of the sites show one of the ``symbols``.

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
    """The answer is a function of the symbols, one argument per site; see :class:`~softground.Program`."""

    sites: Sequence[int]
    function: Callable[..., Any]
    answer: Any = NEXT
    vectorised: bool = False
    partial: bool = False

    @property
    def kind(self) -> Hashable:
        return Value, self.function

    def rule(self, space: Categorical) -> Program:
        return Program(self.function, space, vectorised=self.vectorised, partial=self.partial)


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
                f"{self} was given, which have {len(bits)} different symbols together: {space.sites} sites cannot "
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
        def step(last: tuple[Any, ...], symbol: object) -> tuple[Any, ...] | None:
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
        space.encode(combinations)  # refuses symbols that a site cannot show

        def step(left: tuple[tuple[Any, ...], ...], symbol: object) -> tuple[tuple[Any, ...], ...] | None:
            return tuple(rest[1:] for rest in left if rest[0] == symbol) or None

        return _true(step, space, tuple(combinations))


@dataclass(frozen=True)
class Clause(Piece):
    """At least one of the literals holds: ``Clause({3: 1, 5: 0})`` for x₃ ∨ ¬x₅, a symbol by site."""

    literals: Mapping[int, Hashable]

    @property
    def sites(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(self.literals)

    @property
    def kind(self) -> Hashable:
        return Clause, tuple(self.literals.values())

    def rule(self, space: Categorical) -> Scan:
        wanted = tuple(self.literals.values())
        space.encode([wanted])  # refuses symbols that a site cannot show
        return _true(lambda holds, symbol, site: holds or symbol == wanted[site], space, False, lambda holds: holds)


def _true(
    step: Callable[..., Any], space: Categorical, start: Hashable, holds: Callable[[Any], bool] = lambda state: True
) -> Scan:
    """A scan whose only answer is True, for the final states that ``holds`` accepts."""
    return Scan(step, space, start=start, accept=lambda state, y: bool(y) and holds(state))


class All(Constraint):
    """The constraint z ∈ S_y ⇔ every piece holds.

    An answer has one entry for each piece with its own answer (sums, counts, values), in their order. For a single such
    piece it is the entry itself; without any it is ``True``. A piece with ``answer=f`` reads ``f(answer)`` instead;
    then all other answers need an ``answer=`` too. A piece with ``answer=12`` always has 12.
    """

    def __init__(self, pieces: Sequence[Piece], space: Categorical) -> None:
        self.space, self.pieces = space, list(pieces)
        if not self.pieces:
            raise ConstraintError("All([]) was given; expected at least one part, such as Sum([0, 1]).")
        self._sites = [self._checked(piece) for piece in self.pieces]
        self.next = [at for at, piece in enumerate(self.pieces) if piece.answer is NEXT]
        self.reads = any(callable(piece.answer) for piece in self.pieces)
        if self.next and self.reads:
            raise ConstraintError(
                f"{self.pieces[self.next[0]]} has no answer=, and another part has one that reads the whole answer; "
                "expected answer= in each of them, or in none."
            )
        rules: dict[Any, Constraint] = {}
        self.rules = []  # of the pieces, each over its own sites
        for piece, sites in zip(self.pieces, self._sites, strict=True):
            key = piece.kind, tuple(space.alphabets[site] for site in sites)
            if key not in rules:
                rules[key] = piece.rule(Categorical(key[1]))
            self.rules.append(rules[key])
        self.numbering = self.answers = Interned()
        self._codes: dict[tuple[Constraint, Any], int] = {}
        self._meant: dict[tuple[Constraint, int], Any] = {}
        self._rows: dict[torch.device, Tensor] = {}
        self._groups: dict[torch.device, list[tuple[Constraint, Tensor, Tensor]]] = {}
        self._fixed = {
            at: self._code(at, piece.answer)
            for at, piece in enumerate(self.pieces)
            if piece.answer is not NEXT and not callable(piece.answer)
        }

    def __repr__(self) -> str:
        return f"All({len(self.pieces)} parts over {self.space.sites} sites)"

    def parts(self) -> list[Part]:
        def reader(at: int) -> Any:
            return lambda y: self.rows(y)[:, at]

        each = enumerate(zip(self._sites, self.rules, strict=True))
        return [Part(tuple(sites), rule, reader(at)) for at, (sites, rule) in each]

    def _checked(self, piece: Piece) -> list[int]:
        sites = list(piece.sites)
        if not sites or len(set(sites)) != len(sites) or not set(sites) <= set(range(self.space.sites)):
            raise ConstraintError(
                f"{piece} was given; expected one or more of the sites 0 … {self.space.sites - 1}, each once."
            )
        return sites

    def encode(self, answers: Sequence[Any]) -> Tensor:
        """Answers as ids, ``[len(answers)]``; :meth:`rows` gives those of the parts."""
        return self.answers.encode(answers, self._key, lambda answer: (answer,))  # as tuples

    def _key(self, given: tuple[Any]) -> tuple[int, ...]:
        """The number of each part's answer, in that part's rule."""
        (answer,) = given
        entries = iter(self._entries(answer))
        codes = []
        for at, piece in enumerate(self.pieces):
            if at in self._fixed:
                codes.append(self._fixed[at])
            else:
                own = next(entries) if piece.answer is NEXT else None if answer is None else self._asked(piece, answer)
                codes.append(self._code(at, own))
        return tuple(codes)

    def _entries(self, answer: object) -> list[Any]:
        """The entries of an answer, one for each part that has one."""
        if answer is None or len(self.next) == 1:
            return [answer] * len(self.next)
        if not self.next:
            if answer is not True and not self.reads:
                raise ConstraintError(f"The answer {answer!r} was given; none of the parts has an answer: give True.")
            return []
        entries = answer.tolist() if hasattr(answer, "tolist") else answer
        if not isinstance(entries, list | tuple) or len(entries) != len(self.next):
            raise ConstraintError(
                f"The answer {answer!r} was given; expected {len(self.next)} entries, one for each of the parts: "
                f"{', '.join(str(self.pieces[at]) for at in self.next[:3])}{' …' * (len(self.next) > 3)}."
            )
        return list(entries)

    def _asked(self, piece: Piece, answer: object) -> Any:
        if isinstance(answer, Relation):
            raise ConstraintError(
                f"The relation {answer!r} was given, but the {piece} computes its own part of the answer; expected an "
                "answer, or None. Let answer= give relations of single parts instead."
            )
        try:
            return piece.answer(answer)
        except Exception as error:
            raise ConstraintError(
                f"The answer {answer!r} does not suit the answer= of the {piece}: {type(error).__name__}: {error}."
            ) from error

    def _code(self, at: int, answer: object) -> int:
        """The number of a part's answer; computed once."""
        rule = self.rules[at]
        try:
            key = rule, pattern(answer)
            if key not in self._codes:
                self._codes[key] = int(rule.encode([answer]))
                self._meant[rule, self._codes[key]] = key[1]
        except ConstraintError as error:
            raise ConstraintError(f"{self.pieces[at]}: ", *error.args) from error
        return self._codes[key]

    def key(self, y: int) -> tuple[int, ...]:
        """The numbers of the parts' own answers."""
        found: tuple[int, ...] = self.answers.keys[y]
        return found

    def meant(self, rule: Constraint, code: int) -> Any:
        """The meaning of a part's encoded answer: an exact answer, a relation or None."""
        return self._meant[rule, code]

    def rows(self, y: Tensor) -> Tensor:
        """The parts' own encoded answers, ``[rows, parts]``."""
        with INTERNING:
            if y.device not in self._rows or len(self._rows[y.device]) < len(self.answers.keys):
                rows = torch.tensor(self.answers.keys, dtype=torch.long, device=y.device)
                self._rows[y.device] = rows.reshape(-1, len(self.pieces))
            return self._rows[y.device][y]

    def answer(self, y: Tensor) -> Any:
        return self.answers.given[int(y)]

    def misfit(self, y: Tensor) -> str:
        asked = zip(self.pieces, self.rules, self.rows(y[None])[0], strict=True)
        return next((f"for the {piece} {found}" for piece, rule, own in asked if (found := rule.misfit(own))), "")

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        rows, found = self.rows(y), torch.ones(len(z), dtype=torch.bool, device=z.device)
        for rule, places, sites in self._together(z.device):
            some = z[:, sites]  # [rows, parts of this rule, their sites]
            fine = rule.feasible(some.flatten(0, 1), rows[:, places].flatten())
            found &= fine.view(some.shape[:2]).all(1)
        return found

    def admissible(self, z: Tensor) -> Tensor:
        found = self._fixed_hold(z)
        for at in set(range(len(self.pieces))) - self._fixed.keys():
            found = found & self.rules[at].admissible(z[:, self._sites[at]])
        return found

    def _fixed_hold(self, z: Tensor) -> Tensor:
        """Whether all parts with a constant answer hold."""
        found = torch.ones(len(z), dtype=torch.bool, device=z.device)
        for at, code in self._fixed.items():
            found &= self.rules[at].feasible(z[:, self._sites[at]], torch.full_like(z[:, 0], code))
        return found

    def compute(self, z: Tensor) -> list[Any]:
        """The parts' answers; None if a part cannot hold or has none. Refused if a part reads the whole answer."""
        if self.reads:
            return super().compute(z)
        each = [self.rules[at].compute(z[:, self._sites[at]]) for at in self.next]
        found: list[Any] = [*zip(*each, strict=True)] if each else [(True,)] * len(z)
        whole = [
            holds and None not in answers for holds, answers in zip(self._fixed_hold(z).tolist(), found, strict=True)
        ]
        return [(a if len(a) > 1 else a[0]) if here else None for a, here in zip(found, whole, strict=True)]

    def _together(self, device: torch.device) -> list[tuple[Constraint, Tensor, Tensor]]:
        """The rules with the places and sites of their parts on the device; computed once."""
        if device not in self._groups:
            found: dict[Constraint, list[int]] = {}
            for at, rule in enumerate(self.rules):
                found.setdefault(rule, []).append(at)
            self._groups[device] = [
                (
                    rule,
                    torch.tensor(places, device=device),
                    torch.tensor([self._sites[at] for at in places], device=device),
                )
                for rule, places in found.items()
            ]
        return self._groups[device]
