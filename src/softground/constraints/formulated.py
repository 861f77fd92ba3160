r"""A rule of parts as one Z3 formula: the conjunction, in which its parts meet.

Each part's law knows nothing of the others, so the parts of an answer may all have solutions and S_y = ∩ S_y^c none:
rows that add up to 30 and columns that add up to 31. A solver sees that. Sums are linear, the other usual parts are
said by what each site shows, and a part of another kind is the list of its combinations. One that is too large for
that is left out: what contradicts the rest contradicts the whole, but not the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import torch

from .answers import Between, Relation, resolve
from .conjunction import All
from .pieces import AllDifferent, Allowed, Clause, Count, Increasing, Piece, Sum
from .smt import SMT
from .terms import load_z3, terms_of

SMALL = 10_000  # states of a part that is said by its combinations


def in_formula(rule: All) -> SMT:
    """The formula that says what ``rule`` says, and understands its encoded answers.

    >>> from softground.spaces import Categorical
    >>> space = Categorical([range(10)] * 4)
    >>> square = in_formula(All([Sum([0, 1]), Sum([2, 3]), AllDifferent(range(4))], space))
    >>> square.feasible(space.encode([(1, 2, 3, 4), (1, 2, 2, 5)]), square.encode([(3, 7), (3, 7)])).tolist()
    [True, False]
    """

    symbols = terms_of(rule.space).symbols
    numbers = [dict(zip(*each, strict=True)) for each in zip(rule.space.alphabets, symbols, strict=True)]

    def formula(z: list[Any], codes: tuple[int, ...]) -> list[Any]:
        found = []
        for piece, own, code in zip(rule.pieces, rule.rules, codes, strict=True):
            terms, those = [z[i] for i in piece.sites], [numbers[i] for i in piece.sites]
            found.append(said(piece, Asked(terms, those, own, code, rule.meant(own, code))))
        return found

    return SMT(formula, rule.space, answers=rule)


def left_out(rule: All) -> list[Piece]:
    """The parts that are too large to be said."""
    long = (piece for piece in rule.pieces if math.prod(rule.space.sizes[site] for site in piece.sites) > SMALL)
    return [piece for piece in long if said.dispatch(type(piece)) is said.dispatch(object)]


@dataclass(frozen=True, eq=False)
class Asked:
    """What a piece needs to say itself, its sites counted from 0."""

    z: list[Any]  # Z3's terms
    numbers: list[dict[Hashable, int]]  # that stand for the symbols
    rule: Any  # the piece's own
    code: int  # its answer, encoded
    answer: Any  # the same as it compares answers

    def shows(self, i: int, symbol: Hashable) -> Any:
        """That a site shows a symbol, which its alphabet may not have."""
        return self.z[i] == self.numbers[i][symbol] if symbol in self.numbers[i] else load_z3().BoolVal(False)

    def one_of(self, combinations: Iterable[Any]) -> Any:
        """That the sites show one of these."""
        z3 = load_z3()
        return z3.Or(*[z3.And(*[self.shows(i, symbol) for i, symbol in enumerate(each)]) for each in combinations])

    def admits(self, total: Any) -> Any:
        """That a number is one which the answer admits."""
        z3 = load_z3()

        def within(relation: Relation) -> Any:
            if not isinstance(relation, Between):
                return z3.BoolVal(False)  # no number contains anything
            ends = [(relation.low, total.__ge__), (relation.high, total.__le__)]
            return z3.And(*[side(z3.Q(*end.as_integer_ratio())) for end, side in ends if end is not None])

        def equal(number: Hashable) -> Any:
            return total == number if isinstance(number, int) else z3.BoolVal(False)

        return resolve(self.answer, equal, within, z3.BoolVal(True))


@singledispatch
def said(piece: Any, asked: Asked) -> Any:
    """What a piece says of its sites, as a Z3 Bool; by default by listing."""
    space = asked.rule.space
    if space.size > SMALL:
        return load_z3().BoolVal(True)
    states = space.states(torch.arange(space.size))
    return asked.one_of(space.decode(states[asked.rule.feasible(states, torch.full((len(states),), asked.code))]))


@said.register
def _(piece: Sum, asked: Asked) -> Any:
    return asked.admits(load_z3().Sum(asked.z))


@said.register
def _(piece: Count, asked: Asked) -> Any:
    z3, symbols = load_z3(), list(piece.symbols)
    each = [z3.Or(*[asked.shows(i, symbol) for symbol in symbols]) for i in range(len(asked.z))]
    return asked.admits(z3.Sum([z3.If(counted, 1, 0) for counted in each]))


@said.register
def _(piece: AllDifferent, asked: Asked) -> Any:
    z3, sites = load_z3(), range(len(asked.z))
    return z3.And(*[z3.AtMost(*[asked.shows(i, symbol) for i in sites], 1) for symbol in asked.rule.space.symbols])


@said.register
def _(piece: Increasing, asked: Asked) -> Any:
    z3, alphabets = load_z3(), asked.rule.space.alphabets

    def rises(i: int, low: Any) -> Any:
        higher = [symbol for symbol in alphabets[i + 1] if low < symbol or (low == symbol and not piece.strict)]
        return z3.Implies(asked.shows(i, low), z3.Or(*[asked.shows(i + 1, symbol) for symbol in higher]))

    return z3.And(*[rises(i, low) for i in range(len(alphabets) - 1) for low in alphabets[i]])


@said.register
def _(piece: Allowed, asked: Asked) -> Any:
    return asked.one_of(piece.combinations)


@said.register
def _(piece: Clause, asked: Asked) -> Any:
    return load_z3().Or(*[asked.shows(i, symbol) for i, symbol in enumerate(piece.literals.values())])
