"""Truth tables: on which combinations of a few sites do formulas hold?

Where the dropped sites have few combinations no search is needed. Formulas of whole numbers are evaluated as arrays
(:mod:`~softground.solver.formulas`). For others Z3's simplifier is the evaluator: substituting all combinations and
simplifying decides the formula on each, in one call of the C library.
"""

import math
from collections.abc import Sequence
from typing import Any

from ..constraints.smt import Terms, load_z3
from .formulas import Codes, Formulas

SIMPLIFIED = 8  # formulas at once; more of them are slower again


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
