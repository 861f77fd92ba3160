"""Truth tables: on which combinations of a few sites do formulas hold? Where these are few no search is needed.

**Formulas as arrays.** Z3 prints a formula as **steps**, one line for each of its parts. Formulas that a rule gives for
different queries mostly differ in their numbers alone. So steps are read once, and queries that share them are
evaluated together, each with its own numbers, on all combinations of the dropped sites.

What is not made of whole numbers, or might pass 64 bits, is left to Z3: real numbers, constants and functions of the
rule's own, a divisor that is no number.

**Z3's simplifier** evaluates the others: substituting all combinations and simplifying decides the formula on each, in
one call of the C library.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ..constraints.answers import remember_in
from ..constraints.smt import Terms, load_z3
from .engine import Codes

Numbers = tuple[int, ...]
Step = tuple[str, tuple[Any, ...]]  # an operation and its arguments: a place, a site's name, or the n-th number
TOKEN = re.compile(r"#(\d+)|(?<![^ (])(-?\d+)(?![^ )\n])")
LINE = re.compile(r"(?:#\d+ := )?(?:\((\S+) (.*)\)|(\S+))")
SHAPES_KEPT = 2**12
WIDEST = 2**62
SIMPLIFIED = 8  # formulas at once; more of them are slower again


def _chained(compare: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda *given: reduce(operator.and_, map(compare, given, given[1:]))


def _distinct(*given: Any) -> Any:
    pairs = [a != b for i, a in enumerate(given) for b in given[:i]]
    return reduce(operator.and_, pairs)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "and": lambda *given: reduce(operator.and_, given),
    "or": lambda *given: reduce(operator.or_, given),
    "not": np.logical_not,
    "xor": operator.xor,
    "=>": lambda a, b: ~a | b,
    "if": np.where,
    "=": _chained(operator.eq),
    "<": _chained(operator.lt),
    "<=": _chained(operator.le),
    ">": _chained(operator.gt),
    ">=": _chained(operator.ge),
    "distinct": _distinct,
    "+": lambda *given: reduce(operator.add, given),
    "-": lambda *given: reduce(operator.sub, given) if len(given) > 1 else -given[0],
    "*": lambda *given: reduce(operator.mul, given),
    "div": lambda a, b: a // abs(b) * np.sign(b),  # the remainder is never negative
    "mod": lambda a, b: a % abs(b),
}
SIZES: dict[str, Callable[[Sequence[int]], int]] = {  # no value is larger, given those of the arguments
    "+": sum,
    "-": sum,
    "*": math.prod,
    **dict.fromkeys(("if", "div", "mod"), max),
}


class Formulas:
    """Where formulas over some sites hold."""

    def __init__(self, terms: Terms) -> None:
        self.z3, self.context = load_z3(), load_z3().main_ctx()
        self.sites = {str(variable): site for site, variable in enumerate(terms.variables)}
        self.symbols = [np.array(symbols) for symbols in terms.symbols]
        self._steps: dict[str, list[Step] | None] = {}  # None: for Z3

    def solve(self, expressions: Sequence[Any], sites: tuple[int, ...]) -> list[list[Codes] | None]:
        """The combinations that make each expression true, in order; None where they were not evaluated."""
        found: list[list[Codes] | None] = [None] * len(expressions)
        alike: dict[str, list[tuple[int, Numbers]]] = {}
        for place, (expression, text) in enumerate(zip(expressions, self._printed(expressions), strict=True)):
            shape, numbers = shaped(text)
            if shape not in self._steps:
                remember_in(self._steps, shape, self._read(expression, shape), SHAPES_KEPT)
            if self._steps[shape] is not None:
                alike.setdefault(shape, []).append((place, numbers))
        for shape, members in alike.items():
            for (place, _), states in zip(members, self._alike(shape, [own for _, own in members], sites), strict=True):
                found[place] = states
        return found

    def _alike(self, shape: str, numbers: list[Numbers], sites: tuple[int, ...]) -> list[list[Codes] | None]:
        """The combinations for each row of numbers; one that is too wide spoils no other."""
        truth = self._evaluated(self._steps[shape] or [], numbers, sites)
        if truth is not None:
            return [list(map(tuple, np.argwhere(row).tolist())) for row in truth]
        return (
            [None] if len(numbers) == 1 else [states for own in numbers for states in self._alike(shape, [own], sites)]
        )

    def _printed(self, expressions: Sequence[Any]) -> list[str]:
        z3, c = self.z3, self.context.ref()
        z3.Z3_set_ast_print_mode(c, z3.Z3_PRINT_LOW_LEVEL)
        try:
            return [z3.Z3_ast_to_string(c, expression.ast) for expression in expressions]
        finally:
            z3.Z3_set_ast_print_mode(c, z3.Z3_PRINT_SMTLIB2_COMPLIANT)

    def _read(self, expression: Any, shape: str) -> list[Step] | None:
        """The steps of a shape, if all are known and nothing in the expression has a meaning of the rule's own."""
        if not self._plain(expression):
            return None
        steps: list[Step] = []
        numbers = 0
        for line in shape.splitlines():
            name, given, alone = LINE.fullmatch(line).groups()  # type: ignore[union-attr]
            arguments: list[Any] = []
            for word in [alone] if alone else given.split():
                if word == "?":
                    word, numbers = numbers, numbers + 1
                elif word.startswith("#"):
                    word = ("step", int(word[1:]))
                elif word not in self.sites and word not in ("true", "false"):
                    return None
                arguments.append(word)
            if name not in (None, *OPERATIONS) or (name in ("div", "mod") and not isinstance(arguments[1], int)):
                return None
            steps.append((name, tuple(arguments)))
        return steps

    def _plain(self, expression: Any) -> bool:
        """Whether all constants and functions of the user's are sites."""
        seen, left = set(), [expression]
        while left:
            if not self.z3.is_app(each := left.pop()):
                return False
            if each.get_id() not in seen:
                seen.add(each.get_id())
                left += each.children()
                own = each.decl().kind() == self.z3.Z3_OP_UNINTERPRETED
                if own and (each.num_args() or str(each) not in self.sites):
                    return False
        return True

    def _evaluated(self, steps: list[Step], numbers: list[Numbers], sites: tuple[int, ...]) -> Any:
        """The truth for each row of numbers on each combination, ``[rows, symbols, …]``; None where it is too wide."""
        shape = (len(numbers), *(len(self.symbols[site]) for site in sites))
        largest = [max(map(abs, column)) for column in zip(*numbers, strict=True)]
        if max(largest, default=0) > WIDEST:
            return None
        columns = np.array(numbers, dtype=np.int64).reshape(len(numbers), -1)
        known: list[tuple[Any, int]] = []  # of each step, its values, and a bound on them

        def of(word: Any) -> tuple[Any, int]:
            if isinstance(word, int):
                return columns[:, word].reshape(-1, *[1] * len(sites)), largest[word]
            if isinstance(word, tuple):
                return known[word[1]]
            if word in ("true", "false"):
                return np.bool_(word == "true"), 1
            site = self.sites[word]
            axes = [-1 if each == site else 1 for each in sites]
            return self.symbols[site].reshape(1, *axes), int(abs(self.symbols[site]).max())

        for name, words in steps:
            values, sizes = zip(*map(of, words), strict=True)
            size = SIZES[name](sizes[name == "if" :]) if name in SIZES else max(sizes) if name is None else 1
            if size > WIDEST or (name in ("div", "mod") and not values[1].all()):
                return None
            known.append((OPERATIONS[name](*values) if name else values[0], size))
        return np.broadcast_to(known[-1][0], shape)


def shaped(text: str) -> tuple[str, Numbers]:
    """A printed formula with its steps counted from 0 and its numbers taken out.

    >>> shaped("#7 := (* x -3)\\n(= #7 12)\\n")
    ('#0 := (* x ?)\\n(= #0 ?)\\n', (-3, 12))
    """
    numbers: list[int] = []
    places: dict[str, int] = {}

    def replace(found: re.Match[str]) -> str:
        if found[1] is not None:
            return f"#{places.setdefault(found[1], len(places))}"
        numbers.append(int(found[2]))
        return "?"

    return TOKEN.sub(replace, text), tuple(numbers)


class TruthTable:
    """The truth of formulas over some sites, if need be evaluated in one go inside Z3.

    There the formulas become one bit each, side by side: e. With a, b, … the symbols of the last free site, the vectors
    …, e[b], e[a] are put side by side and simplified. That is expanded over the site before, and so on, so that no
    level repeats what another has simplified. In the result, bit k · formulas + i is the truth of formula i on the k-th
    combination in lexicographic order. Z3's C interface is called directly, because its Python wrapper would cost more
    than the work.
    """

    def __init__(self, terms: Terms) -> None:
        self.z3, self.terms, self.formulas = load_z3(), terms, Formulas(terms)
        self.context = self.z3.main_ctx()
        self._one, self._zero = self.z3.BitVecVal(1, 1), self.z3.BitVecVal(0, 1)
        self._bound = self.z3.Var(0, self.z3.IntSort())
        self._patterns: dict[tuple[int, int], tuple[Any, Any]] = {}

    def solve(self, expressions: Sequence[Any], sites: tuple[int, ...]) -> list[list[Codes] | None]:
        """The combinations that make each expression true, in order; None where Z3 left some undecided."""
        found = self.formulas.solve(expressions, sites)
        left = [place for place, states in enumerate(found) if states is None]
        for first in range(0, len(left), SIMPLIFIED):
            places = left[first : first + SIMPLIFIED]
            for place, states in zip(places, self._simplified([expressions[i] for i in places], sites), strict=True):
                found[place] = states
        return found

    def _simplified(self, expressions: Sequence[Any], sites: tuple[int, ...]) -> list[list[Codes] | None]:
        z3, c, count = self.z3, self.context.ref(), len(expressions)
        single = [self._own(z3.Z3_mk_ite(c, e.ast, self._one.ast, self._zero.ast)) for e in expressions]
        bits, bound, width = single[0], (z3.Ast * 1)(self._bound.ast), count
        for bit in single[1:]:
            bits = self._own(z3.Z3_mk_concat(c, bit.ast, bits.ast))
        for site in reversed(sites):
            pattern, function = self._pattern(site, width)
            variable, functions = (z3.Ast * 1)(self.terms.variables[site].ast), (z3.FuncDecl * 1)(function.ast)
            body = self._own(z3.Z3_substitute(c, bits.ast, 1, variable, bound))
            wide = self._own(z3.Z3_substitute_funs(c, pattern.ast, 1, functions, (z3.Ast * 1)(body.ast)))
            bits = self._own(z3.Z3_simplify(c, wide.ast))
            width *= len(self.terms.symbols[site])
        if z3.Z3_is_numeral_ast(c, bits.ast):
            return self._combinations(int(z3.Z3_get_numeral_binary_string(c, bits.ast), 2), sites, count)
        if count == 1:
            return [None]
        return [states for e in expressions for states in self._simplified([e], sites)]

    def _combinations(self, bits: int, sites: tuple[int, ...], count: int) -> list[list[Codes] | None]:
        sizes = [len(self.terms.symbols[site]) for site in sites]
        strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
        states: list[list[Codes]] = [[] for _ in range(count)]
        while bits:
            k, formula = divmod((bits & -bits).bit_length() - 1, count)
            states[formula].append(tuple(k // stride % size for stride, size in zip(strides, sizes, strict=True)))
            bits &= bits - 1
        return [*states]

    def _pattern(self, site: int, width: int) -> tuple[Any, Any]:
        """f(last symbol) … f(first symbol) side by side, and the function f that an expansion replaces."""
        if (site, width) not in self._patterns:
            f = self.z3.Function(f"softground.table.{width}", self.z3.IntSort(), self.z3.BitVecSort(width))
            columns = [f(numeral) for numeral in reversed(self.terms.numerals[site])]
            self._patterns[site, width] = (self.z3.Concat(*columns) if len(columns) > 1 else columns[0], f)
        return self._patterns[site, width]

    def _own(self, ast: Any) -> Any:
        """Keep a result of Z3's C interface, which the next call would free."""
        return self.z3.AstRef(ast, self.context)
