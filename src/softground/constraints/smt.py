r"""A rule given as a Z3 formula: z ∈ S_y iff the formula holds.

``formula(z, y)`` is called with a list ``z`` of one Z3 Int expression per site and with the answer in its exact
form (an int, a :class:`fractions.Fraction`, a string or a tuple of these). An expression stands for the symbol if the
site's alphabet is all ints, else for the symbol's position in that alphabet. It is a constant if the site is free and a
numeral (``z3.IntVal``) if it is known. The formula returns a Z3 Bool, a Python bool, or a list of these, which must all
hold. Its auxiliary constants count as existentially quantified.

A relation (:mod:`~softground.constraints.relations`) becomes a disjunction for one of several answers, a negation for a
complement, and for a range the formula is called with a Z3 Real constant ``y``.

>>> from softground.spaces import Categorical
>>> space = Categorical([range(10), range(10)])
>>> total = SMT(lambda z, y: z[0] + z[1] == y, space)
>>> y = total.encode([18, 3])
>>> total.feasible(space.encode([(9, 9), (1, 1)]), y).tolist()
[True, False]

:func:`in_formula` translates a rule of parts. All parts of an answer may have solutions and S_y = ∩ S_y^c none, for
example if rows add up to 30 and columns to 31. The parts alone cannot detect that; a solver can.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor

from ..errors import ConstraintError
from ..registry import load
from ..spaces.categorical import Categorical
from .base import Constraint, Part
from .language import SUMS, Conjunct, LanguageRule, numbers
from .pieces import All, AllDifferent, Allowed, Clause, Count, Increasing, Piece, Sum
from .relations import Between, Not, Relation, complements, resolve

POINT_RLIMIT = 20_000_000  # Z3's measure of work, for a state that simplification left undecided: some 10 s
SMALL = 10_000  # states of a part that is said by its combinations


class SMT(LanguageRule):
    """The constraint z ∈ S_y ⇔ formula(z, y).

    ``answers`` is another statement of the same rule, whose encoded answers this one understands: a task may then use a
    fast :class:`~softground.constraints.Program` to check states and this formula to invert projections.
    """

    def __init__(
        self, formula: Callable[[list[Any], Any], Any], space: Categorical, *, answers: Constraint | None = None
    ) -> None:
        super().__init__(formula, space)
        self.shared = answers
        self.numbering = self._answers if answers is None else answers.numbering
        self._complements: set[Not] = set()  # those that can be stated
        self._sites_checked = False  # whether a formula was seen to be about the sites

    def encode(self, answers: Sequence[Any]) -> Tensor:
        return super().encode(answers) if self.shared is None else self.shared.encode(answers)

    def answer(self, y: Tensor) -> Any:
        return super().answer(y) if self.shared is None else self.shared.answer(y)

    def compute(self, z: Tensor) -> list[Any]:
        return super().compute(z) if self.shared is None else self.shared.compute(z)

    def key(self, y: int) -> Hashable:
        return super().key(y) if self.shared is None else self.shared.key(y)

    def stated(self, y: Tensor) -> str:
        return str(self.expression(self.key(int(y)), [0] * self.space.sites, range(self.space.sites)).sexpr())

    @property
    def negates(self) -> bool:
        return super().negates if self.shared is None else self.shared.negates

    def admissible(self, z: Tensor) -> Tensor:
        return super().admissible(z) if self.shared is None else self.shared.admissible(z)

    @cached_property
    def terms(self) -> Terms:
        """The space's constants and numerals in Z3's main context, made once per process."""
        return terms_of(self.space)

    @cached_property
    def names(self) -> list[str]:
        return [str(variable) for variable in self.terms.variables]

    def expression(self, answer: object, codes: Sequence[int], free: Sequence[int] = ()) -> Any:
        """The formula with every site known but the ``free`` ones: a Z3 Bool in the main context.

        Known sites are numerals, so that the formula itself can specialise and the solver gets little to do.
        """
        terms = self.terms
        z = [numerals[code] for numerals, code in zip(terms.numerals, codes, strict=True)]
        for site in free:
            z[site] = terms.variables[site]
        if not isinstance(answer, Relation | None):
            formula = self._formula(z, answer)
            if len(free) == len(z) and not self._sites_checked:
                self._check_sites(formula, answer)
            return formula
        for part in complements(answer):
            self._check_complement(part)
        return resolve(answer, partial(self._formula, z), partial(self._ranged, z), load_z3().BoolVal(True))

    def parts(self) -> list[Part]:
        return super().parts() if self.shared is None else []

    def conjuncts(self, answer: Hashable) -> Iterator[Conjunct]:
        for formula in members(self.expression(answer, [0] * self.space.sites, range(self.space.sites))):
            yield constants(formula), formula

    def swapped(self, expressions: list[Any], variables: dict[int, Any]) -> list[Any]:
        swaps = [(self.terms.variables[site], term) for site, term in variables.items()]
        return [load_z3().substitute(expression, *swaps) for expression in expressions]

    def read(self, formula: Any) -> tuple[Piece, Any] | None:
        z3, places = load_z3(), {variable.get_id(): site for site, variable in enumerate(self.terms.variables)}
        kinds = {
            z3.Z3_OP_EQ: ("==", "=="),
            z3.Z3_OP_LE: ("<=", ">="),
            z3.Z3_OP_LT: ("<", ">"),
            z3.Z3_OP_GE: (">=", "<="),
            z3.Z3_OP_GT: (">", "<"),
            z3.Z3_OP_DISTINCT: ("!=", "!="),
        }  # read from the left, and from the right
        if not z3.is_app(formula):
            return None
        kind, sides = formula.decl().kind(), formula.children()
        different = [places.get(side.get_id(), -1) for side in sides]
        if kind == z3.Z3_OP_DISTINCT and min(different) >= 0:
            return AllDifferent(different), True
        literal = [z3.is_int_value(side) for side in sides]
        if kind not in kinds or len(sides) != 2 or sum(literal) != 1:
            return None
        left, number, sites = sides[literal[0]], sides[literal[1]].as_long(), []
        addends = [left]
        while addends:
            if (each := addends.pop()).decl().kind() == z3.Z3_OP_ADD:
                addends += each.children()
            elif z3.is_int_value(each):
                number -= each.as_long()  # Python's sum() begins with 0
            else:
                sites.append(places.get(each.get_id(), -1))
        return Sum(sites), SUMS[kinds[kind][literal[0]]](number)

    def _ranged(self, z: list[Any], relation: Relation) -> Any:
        """The formula for some number of a range."""
        z3 = load_z3()
        if not isinstance(relation, Between):
            raise ConstraintError(
                f"The answer {relation!r} was given to a Z3 rule, which cannot tell what an answer contains. Say it in "
                "the formula: let the answer be what is contained."
            )
        y = z3.Real("softground.answer")
        return z3.And(self._formula(z, y), *_within(y, relation))

    def _check_complement(self, answer: Not) -> None:
        """Refuse the complement of 'there is …', which Z3 would have to read as 'for all …'."""
        if answer in self._complements:
            return
        inner = self.expression(answer.answer, [0] * self.space.sites, range(self.space.sites))
        if own := constants(inner).difference(self.names):
            raise ConstraintError(
                f"The answer {answer!r} was given to a Z3 rule whose formula uses constants of its own "
                f"({', '.join(sorted(own))}): its complement cannot be stated. Write the formula without them, and "
                "list answers instead of a range: Not(OneOf(…))."
            )
        self._complements.add(answer)

    def _formula(self, z: list[Any], answer: object) -> Any:
        """What the user's formula says, as one Z3 Bool."""
        z3 = load_z3()
        try:
            result = self.rule(z, answer)
        except MemoryError:
            raise  # no fault of the formula: the caller that set a limit counts it
        except Exception as error:
            if isinstance(error, z3.Z3Exception) and "out of memory" in str(error):
                raise MemoryError(str(error)) from error
            raise ConstraintError(
                f"The Z3 formula failed for the answer {answer!r} with {[str(e) for e in z]!r}: "
                f"{type(error).__name__}: {error}. It must accept Z3 Int constants and numerals at every site."
            ) from error
        parts = list(result) if isinstance(result, list | tuple) else [result]
        if not all(isinstance(part, bool) or z3.is_bool(part) for part in parts):
            raise ConstraintError(
                f"The Z3 formula returned {result!r}; expected a Z3 Bool, a Python bool, or a list of these."
            )
        if all(isinstance(part, bool) for part in parts):
            return z3.BoolVal(all(parts))
        return parts[0] if len(parts) == 1 else z3.And(*parts)

    def _check_sites(self, formula: object, answer: object) -> None:
        """Refuse a formula that is about other constants than the sites."""
        names = constants(formula)
        if names and names.isdisjoint(self.names):
            said = ", ".join(sorted(names))
            raise ConstraintError(
                f"The Z3 formula for the answer {answer!r} is over unknown constants alone ({said}). It must be over "
                "the expressions z that it is called with, one per site; others may only help to say it."
            )
        self._sites_checked = True

    def decide(self, y: int, codes: tuple[int, ...]) -> bool:
        """Whether a state is feasible: Z3 simplifies the formula, and searches if that leaves it undecided."""
        z3 = load_z3()
        value = z3.simplify(self.expression(self.key(y), codes))
        if z3.is_true(value) or z3.is_false(value):
            return bool(z3.is_true(value))
        solver = z3.Solver()
        solver.set(rlimit=POINT_RLIMIT)
        solver.add(value)
        status = solver.check()
        if status == z3.sat or status == z3.unsat:
            return bool(status == z3.sat)
        state = self.space.decode(torch.tensor([codes]))[0]
        raise ConstraintError(
            f"Z3 could not decide whether {state!r} is feasible for the answer {self.key(y)!r} ('{status}': "
            f"{solver.reason_unknown()}). Avoid quantifiers and non-linear constraints on the formula's own constants."
        )


def load_z3() -> Any:
    """The ``z3`` module, imported when it is first needed: nothing else in the library depends on it."""
    return load("z3", "A rule given as a Z3 formula", "z3-solver", ConstraintError)


@dataclass(frozen=True, eq=False)
class Terms:
    """The space in Z3's words (main context): per site its constant, its domain, and a numeral per code."""

    variables: list[Any]
    bounds: list[Any]
    numerals: list[list[Any]]
    symbols: tuple[tuple[int, ...], ...]  # the ints behind the numerals


def terms_of(space: Categorical) -> Terms:
    """The space's constants and numerals in Z3's main context."""
    z3 = load_z3()
    symbols, variables, bounds = numbers(space), [], []
    for site, values in enumerate(symbols):
        variables.append(v := z3.Int(f"softground.site.{site}"))
        low, high = min(values), max(values)
        contiguous = high - low + 1 == len(values)
        bounds.append(z3.And(v >= low, v <= high) if contiguous else z3.Or(*[v == x for x in values]))
    return Terms(variables, bounds, [[z3.IntVal(x) for x in values] for values in symbols], symbols)


def members(formula: Any) -> Iterator[Any]:
    """What a formula is a conjunction of; the formula itself where it is none."""
    if load_z3().is_and(formula):
        for child in formula.children():
            yield from members(child)
    else:
        yield formula


def constants(formula: object) -> set[str]:
    """The names of a formula's constants."""
    return {str(constant) for constant in load_z3().z3util.get_vars(formula)}


def _within(term: Any, relation: Between) -> list[Any]:
    """That a number is in a range."""
    q, ends = load_z3().Q, [(relation.low, term.__ge__), (relation.high, term.__le__)]
    return [side(q(*end.as_integer_ratio())) for end, side in ends if end is not None]


def in_formula(rule: All) -> SMT:
    """The formula that says what ``rule`` says, and understands its encoded answers.

    >>> from softground.spaces import Categorical
    >>> space = Categorical([range(10)] * 4)
    >>> square = in_formula(All([Sum([0, 1]), Sum([2, 3]), AllDifferent(range(4))], space))
    >>> square.feasible(space.encode([(1, 2, 3, 4), (1, 2, 2, 5)]), square.encode([(3, 7), (3, 7)])).tolist()
    [True, False]
    """

    shown = [dict(zip(*each, strict=True)) for each in zip(rule.space.alphabets, numbers(rule.space), strict=True)]

    def formula(z: list[Any], codes: tuple[int, ...]) -> list[Any]:
        found = []
        for piece, own, code in zip(rule.pieces, rule.rules, codes, strict=True):
            terms, symbols = [z[i] for i in piece.sites], [shown[i] for i in piece.sites]
            translate: Callable[[Any, PieceTerms], Any] = TRANSLATIONS.get(type(piece), _listed)
            found.append(translate(piece, PieceTerms(terms, symbols, own, code, rule.meant(own, code))))
        return found

    return SMT(formula, rule.space, answers=rule)


def left_out(rule: All) -> list[Piece]:
    """The parts that are too large to be translated. Without them the formula admits more than the rule."""
    others = [piece for piece in rule.pieces if type(piece) not in TRANSLATIONS]
    return [piece for piece in others if math.prod(rule.space.sizes[site] for site in piece.sites) > SMALL]


@dataclass(frozen=True, eq=False)
class PieceTerms:
    """What a translation of a piece is made from, with its sites counted from 0."""

    z: list[Any]  # Z3's terms
    numbers: list[dict[Hashable, int]]  # that stand for the symbols
    rule: Any  # the piece's own
    code: int  # its answer, encoded
    answer: Any  # the same as it compares answers

    def shows(self, i: int, symbol: Hashable) -> Any:
        """That a site shows a symbol, which its alphabet may not have."""
        return self.z[i] == self.numbers[i][symbol] if symbol in self.numbers[i] else load_z3().BoolVal(False)

    def show(self, symbols: Iterable[Hashable]) -> list[Any]:
        """That each site shows its symbol."""
        return [self.shows(i, symbol) for i, symbol in enumerate(symbols)]

    def one_of(self, combinations: Iterable[Any]) -> Any:
        """That the sites show one of these."""
        z3 = load_z3()
        return z3.Or(*[z3.And(*self.show(each)) for each in combinations])

    def admits(self, total: object) -> Any:
        """That a number is one which the answer admits."""
        z3 = load_z3()
        return resolve(
            self.answer,
            lambda number: total == number if isinstance(number, int) else z3.BoolVal(False),
            # No number contains anything.
            lambda each: z3.And(*_within(total, each)) if isinstance(each, Between) else z3.BoolVal(False),
            z3.BoolVal(True),
        )


def _counted(piece: Count, terms: PieceTerms) -> Any:
    z3, symbols = load_z3(), list(piece.symbols)
    each = [z3.Or(*[terms.shows(i, symbol) for symbol in symbols]) for i in range(len(terms.z))]
    return terms.admits(z3.Sum([z3.If(counted, 1, 0) for counted in each]))


def _different(piece: AllDifferent, terms: PieceTerms) -> Any:
    z3, symbols = load_z3(), terms.rule.space.symbols
    return z3.And(*[z3.AtMost(*terms.show([symbol] * len(terms.z)), 1) for symbol in symbols])


def _increasing(piece: Increasing, terms: PieceTerms) -> Any:
    z3, alphabets = load_z3(), terms.rule.space.alphabets

    def rises(i: int, low: object) -> Any:
        higher = [symbol for symbol in alphabets[i + 1] if low < symbol or (low == symbol and not piece.strict)]
        return z3.Implies(terms.shows(i, low), z3.Or(*[terms.shows(i + 1, symbol) for symbol in higher]))

    return z3.And(*[rises(i, low) for i in range(len(alphabets) - 1) for low in alphabets[i]])


def _listed(piece: Piece, terms: PieceTerms) -> Any:
    """A piece of any other kind: the list of its combinations, unless it is too large for that."""
    space = terms.rule.space
    if space.size > SMALL:
        return load_z3().BoolVal(True)
    states = space.states(torch.arange(space.size))
    return terms.one_of(space.decode(states[terms.rule.feasible(states, torch.full((len(states),), terms.code))]))


TRANSLATIONS: dict[type, Callable[[Any, PieceTerms], Any]] = {  # of a piece into a Z3 Bool over its sites, by kind
    Sum: lambda piece, terms: terms.admits(load_z3().Sum(terms.z)),
    Count: _counted,
    AllDifferent: _different,
    Increasing: _increasing,
    Allowed: lambda piece, terms: terms.one_of(piece.combinations),
    Clause: lambda piece, terms: load_z3().Or(*terms.show(piece.literals.values())),
}
