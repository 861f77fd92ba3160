"""A space in Z3's words, and what a Z3 formula is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import ConstraintError
from ..optional import load
from ..spaces.categorical import Categorical


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
    symbols, variables, bounds = [], [], []
    for site, alphabet in enumerate(space.alphabets):
        ints = tuple(int(s) for s in alphabet if isinstance(s, int))
        symbols.append(ints if len(ints) == len(alphabet) else tuple(range(len(alphabet))))
        variables.append(v := z3.Int(f"softground.site.{site}"))
        low, high = min(symbols[-1]), max(symbols[-1])
        contiguous = high - low + 1 == len(alphabet)
        bounds.append(z3.And(v >= low, v <= high) if contiguous else z3.Or(*[v == x for x in symbols[-1]]))
    numerals = [[_numeral(z3, x) for x in values] for values in symbols]
    return Terms(variables, bounds, numerals, tuple(symbols))


def _numeral(z3: Any, value: int) -> Any:
    """A Z3 numeral that knows its value: formulas ask for it at every site, and Z3's own way is by a string."""

    class Numeral(z3.IntNumRef):  # type: ignore[misc]
        def as_long(self) -> int:
            return value

    plain = z3.IntVal(value)
    return Numeral(plain.ast, plain.ctx)


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
