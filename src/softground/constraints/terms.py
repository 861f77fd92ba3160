"""A space in Z3's words, and what a Z3 formula is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from ..errors import ConstraintError
from ..optional import load
from ..spaces.categorical import Categorical

DIFFERENT = "all different"


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
    z3, (term, numeral) = load_z3(), quick_terms()
    symbols, variables, bounds = [], [], []
    for site, alphabet in enumerate(space.alphabets):
        ints = tuple(int(s) for s in alphabet if isinstance(s, int))
        symbols.append(ints if len(ints) == len(alphabet) else tuple(range(len(alphabet))))
        plain = z3.Int(f"softground.site.{site}")
        variables.append(v := term(plain.ast, plain.ctx))
        low, high = min(symbols[-1]), max(symbols[-1])
        contiguous = high - low + 1 == len(alphabet)
        bounds.append(z3.And(v >= low, v <= high) if contiguous else z3.Or(*[v == x for x in symbols[-1]]))
    numerals = [[numeral(x) for x in values] for values in symbols]
    return Terms(variables, bounds, numerals, tuple(symbols))


@cache
def quick_terms() -> tuple[Any, Any]:
    """Classes of Z3's Int expressions and numerals with quick arithmetic: ``Term(ast, context)``, ``Numeral(value)``.

    Formulas are made anew for every query, and most of that time goes into the checks of Z3's Python interface. Where
    both sides are terms of these classes or Python's ints there is nothing to check. Anything else goes Z3's own way.
    """
    z3 = load_z3()
    context, pair = z3.main_ctx(), z3.Ast * 2

    class Term(z3.ArithRef):  # type: ignore[name-defined, misc]
        __hash__ = z3.ArithRef.__hash__

    class Numeral(Term, z3.IntNumRef):  # type: ignore[name-defined, misc]
        """It knows its value: formulas ask for it at every site, and Z3's own way is by a string."""

        def __init__(self, value: int) -> None:
            plain = z3.IntVal(value)  # whose expression Z3 would free if nobody held it
            super().__init__(plain.ast, context)
            self.value = value

        def as_long(self) -> int:
            return self.value

    numeral = lru_cache(maxsize=2**12)(Numeral)

    def give(name: str, make: Callable[[Any, Any], Any], swap: bool = False) -> None:
        plain = getattr(z3.ArithRef, name)

        def method(self: Any, other: Any) -> Any:
            if type(other) is int:
                other = numeral(other)
            elif not isinstance(other, Term):
                return plain(self, other)
            return make(other.ast, self.ast) if swap else make(self.ast, other.ast)

        setattr(Term, name, method)

    for name, make in {"add": z3.Z3_mk_add, "mul": z3.Z3_mk_mul, "sub": z3.Z3_mk_sub}.items():

        def term(a: Any, b: Any, make: Any = make) -> Any:
            return Term(make(context.ref(), 2, pair(a, b)), context)

        give(f"__{name}__", term)
        give(f"__r{name}__", term, swap=True)
    compared = {"eq": z3.Z3_mk_eq, "lt": z3.Z3_mk_lt, "le": z3.Z3_mk_le, "gt": z3.Z3_mk_gt, "ge": z3.Z3_mk_ge}
    compared["ne"] = lambda c, a, b: z3.Z3_mk_distinct(c, 2, pair(a, b))
    for name, make in compared.items():

        def truth(a: Any, b: Any, make: Any = make) -> Any:
            return z3.BoolRef(make(context.ref(), a, b), context)

        give(f"__{name}__", truth)
    return Term, Numeral


def members(formula: Any) -> Iterator[Any]:
    """What a formula is a conjunction of; the formula itself where it is none."""
    if load_z3().is_and(formula):
        for child in formula.children():
            yield from members(child)
    else:
        yield formula


def constants(formula: Any) -> set[str]:
    """The names of a formula's constants."""
    return {str(constant) for constant in load_z3().z3util.get_vars(formula)}


def compared(formula: Any, variables: list[Any]) -> tuple[str, list[int], int] | None:
    """What a formula says of some variables, if it compares their sum with a number or says that they all differ: how,
    the places of the variables, and the number."""
    z3 = load_z3()
    places = {variable.get_id(): place for place, variable in enumerate(variables)}
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
        return DIFFERENT, different, 0
    numbers = [z3.is_int_value(side) for side in sides]
    if kind not in kinds or len(sides) != 2 or sum(numbers) != 1:
        return None
    left, number, total = sides[numbers[0]], sides[numbers[1]].as_long(), []
    addends = [left]
    while addends:
        if (each := addends.pop()).decl().kind() == z3.Z3_OP_ADD:
            addends += each.children()
        elif z3.is_int_value(each):
            number -= each.as_long()  # Python's sum() begins with 0
        else:
            total.append(places.get(each.get_id(), -1))
    return kinds[kind][numbers[0]], total, number
