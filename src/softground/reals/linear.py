r"""Linear rules between reals, written as Python: equations and inequalities of sums of z, which may depend on y.

``rule(z, y)`` gets a list of one :class:`Affine` expression per site and the answer, and returns a comparison or a list
of them, which must all hold: totals, balances, orders, ranges. S_y is a polyhedron (:mod:`softground.reals.polyhedra`).
Whether a comparison is strict makes no difference: its boundary has probability 0.

>>> from itertools import pairwise
>>> order = LinearRule(lambda z, y: [z[a] <= z[b] for a, b in pairwise(y)], Gaussian(3))
>>> order.feasible(torch.tensor([[5.0, 1.0, 2.0], [1.0, 2.0, 5.0]]), order.encode([(1, 2, 0)] * 2)).tolist()
[True, False]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..constraints.answers import INTERNING
from ..constraints.base import Constraint
from ..errors import ConstraintError
from .gaussian import Gaussian
from .polyhedra import Polyhedra


@dataclass(frozen=True)
class Row:
    """low ≤ a·z ≤ high."""

    coefficients: tuple[float, ...]
    low: float
    high: float

    @property
    def sound(self) -> bool:
        """Whether all of it is numbers, and nothing must be infinite."""
        return math.isfinite(sum(self.coefficients)) and self.low < math.inf and self.high > -math.inf

    def __bool__(self) -> bool:
        raise ConstraintError(
            "A comparison of real symbols was used as true or false, as in low <= z[0] <= high, 'and', min or sorted; "
            "it has no truth value yet. Return a list of single comparisons: [low <= z[0], z[0] <= high]."
        )


@dataclass(frozen=True, eq=False)
class Affine:
    """a·z + constant: sums, differences and multiples of real symbols. Comparing two of them gives a :class:`Row`."""

    coefficients: tuple[float, ...]
    constant: float = 0.0
    __array_ufunc__ = None  # so that numpy's numbers leave the arithmetic to this class

    def __add__(self, other: Any) -> Affine:
        if isinstance(other, Affine):
            both = zip(self.coefficients, other.coefficients, strict=True)
            return Affine(tuple(a + b for a, b in both), self.constant + other.constant)
        return Affine(self.coefficients, self.constant + _number(other))

    def __mul__(self, factor: Any) -> Affine:
        number = _number(factor)
        return Affine(tuple(number * a for a in self.coefficients), number * self.constant)

    def __truediv__(self, divisor: Any) -> Affine:
        return self * (1 / _number(divisor))

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Any) -> Affine:
        return self + (-other if isinstance(other, Affine) else -_number(other))

    def __rsub__(self, other: Any) -> Affine:
        return -self + _number(other)

    __radd__, __rmul__ = __add__, __mul__

    def __le__(self, other: Any) -> Row:
        return self._row(other, below=False, above=True)

    def __ge__(self, other: Any) -> Row:
        return self._row(other, below=True, above=False)

    def __eq__(self, other: object) -> Row:  # type: ignore[override]
        return self._row(other, below=True, above=True)

    def __ne__(self, other: object) -> Any:
        raise ConstraintError("Real symbols were compared by !=; expected ==, <= or >= (reals are never equal).")

    __lt__, __gt__, __hash__ = __le__, __ge__, None  # type: ignore[assignment]

    def _row(self, other: Any, *, below: bool, above: bool) -> Row:
        gap = self - other
        return Row(gap.coefficients, -gap.constant if below else -math.inf, -gap.constant if above else math.inf)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ConstraintError(
            f"Real symbols were combined with {value!r}; expected numbers: a linear rule has sums of symbols, "
            "multiples by numbers, and comparisons of these by ==, <= and >=."
        ) from None


class LinearRule(Constraint):
    """z ∈ S_y ⇔ all comparisons that ``rule(z, y)`` returns hold; None, an unknown answer, asks for nothing.

    What learns takes equations exactly; of readings they must hold to within ``tolerance`` (by default σ) to count as
    right, and inequalities as they are. A bound may be infinite. Equations alone: see
    :class:`~softground.reals.equations.Equations`, whose law is in closed form.

    >>> balance = LinearRule(lambda z, y: [z[0] + z[1] == z[2], z[0] >= 0, z[2] <= y], Gaussian(3, sigma=0.1))
    >>> balance.feasible(torch.tensor([[1.0, 2.0, 3.0], [-1.0, 4.0, 3.0]]), balance.encode([5.0, 5.0])).tolist()
    [True, False]
    """

    def __init__(
        self, rule: Callable[[list[Affine], Any], Any], space: Gaussian, *, tolerance: float | None = None
    ) -> None:
        if not isinstance(space, Gaussian):
            raise ConstraintError(
                f"{space!r} was given; expected a Gaussian space. For symbols there are SMT and CPMpy."
            )
        self.rule, self.space, self.tolerance = rule, space, space.sigma if tolerance is None else tolerance
        if not 0 < self.tolerance < math.inf:
            raise ConstraintError(f"tolerance={tolerance} was given; expected a positive number.")
        self._ids: dict[Hashable, int] = {}
        self._given: list[Any] = []
        self._known = _polyhedra([], space.sites)

    def __repr__(self) -> str:
        return f"LinearRule({self.space!r})"

    def encode(self, answers: Sequence[Any]) -> Tensor:
        """Answers as ids, ``[len(answers)]``: equal answers have equal ids."""
        with INTERNING:
            new: dict[Hashable, tuple[Any, list[Row]]] = {}
            keys = [_key(answer) for answer in answers]
            for position, (key, answer) in enumerate(zip(keys, answers, strict=True)):
                if key not in self._ids and key not in new:
                    new[key] = answer, self._rows(position, answer)
            if new:
                self._known = _joined(self._known, _polyhedra([rows for _, rows in new.values()], self.space.sites))
                self._ids |= {key: len(self._ids) + i for i, key in enumerate(new)}
                self._given += [answer for answer, _ in new.values()]
        return torch.tensor([self._ids[key] for key in keys], dtype=torch.long)

    def _rows(self, position: int, answer: Any) -> list[Row]:
        """One row for each left-hand side, whose bounds are the tightest that were given for it."""
        if answer is None:
            return []
        sites = range(self.space.sites)
        z = [Affine(tuple(float(i == site) for i in sites)) for site in sites]
        try:
            found = self.rule(z, _plain(answer))
        except ConstraintError as error:
            raise ConstraintError(f"Example {position}: {error}") from error
        except Exception as error:
            raise ConstraintError(
                f"Example {position}: The rule failed for the answer {answer!r}: {type(error).__name__}: {error}. "
                "Correct it."
            ) from error
        bounds: dict[tuple[float, ...], tuple[float, float]] = {}
        for row in found if isinstance(found, list | tuple) else [found]:
            if not isinstance(row, Row) or not row.sound:
                raise ConstraintError(
                    f"Example {position}, answer {answer!r}: the rule returned {row!r}; expected comparisons of real "
                    "symbols, such as z[0] + z[1] == y or z[0] <= z[1], in a list."
                )
            first = next((a for a in row.coefficients if a), 1.0)
            sides = (row.low, row.high) if first > 0 else (-row.high, -row.low)
            key = tuple(math.copysign(1, first) * a for a in row.coefficients)
            low, high = bounds.get(key, (-math.inf, math.inf))
            bounds[key] = max(low, sides[0]), min(high, sides[1])
        return [Row(key, *sides) for key, sides in bounds.items()]

    def polyhedra(self, y: Tensor) -> Polyhedra:
        """S_y of encoded answers, on their device."""
        if self._known.rows.device != y.device:
            self._known = Polyhedra(*(part.to(y.device) for part in self._known))
        return self._known.at(y)

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        return self.polyhedra(y).within(z, self.tolerance)

    def admissible(self, z: Tensor) -> Tensor:
        """Any z may be right for some answer."""
        return torch.ones(len(z), dtype=torch.bool, device=z.device)

    def answer(self, y: Tensor) -> Any:
        return self._given[int(y)]


def _plain(answer: Any) -> Any:
    return answer.tolist() if hasattr(answer, "tolist") else answer  # numbers and arrays of numpy and torch


def _key(answer: Any) -> Hashable:
    answer = _plain(answer)
    if isinstance(answer, dict):
        return tuple((name, _key(value)) for name, value in answer.items())
    if isinstance(answer, list | tuple):
        return tuple(map(_key, answer))
    if not isinstance(answer, Hashable):
        raise ConstraintError(
            f"The answer {answer!r} was given; expected numbers, strings, or lists or dicts of these."
        )
    return answer


def _polyhedra(answers: Sequence[Sequence[Row]], sites: int) -> Polyhedra:
    """One polyhedron per answer, of as many rows as the longest has."""
    count = max([1, *map(len, answers)])
    filled = [[*rows, *[Row((0.0,) * sites, -math.inf, math.inf)] * (count - len(rows))] for rows in answers]
    table = [[[*row.coefficients, row.low, row.high] for row in rows] for rows in filled]
    whole = torch.tensor(table, dtype=torch.float64).reshape(len(answers), count, sites + 2)
    return Polyhedra.of(whole[..., :sites], whole[..., sites], whole[..., sites + 1])


def _joined(one: Polyhedra, two: Polyhedra) -> Polyhedra:
    """Both, padded to the same number of rows."""
    count = max(one.rows.shape[1], two.rows.shape[1])
    parts = []
    for each in (one, two):
        more = count - each.rows.shape[1]
        low, high = (pad(side, (0, more), value=end) for side, end in ((each.low, -math.inf), (each.high, math.inf)))
        rows, inside = (pad(part, (0, 0, 0, more)) for part in (each.rows, each.inside))
        parts.append(Polyhedra(rows, low, high, pad(each.back, (0, more)), inside))
    return Polyhedra(*(torch.cat([a.to(b.device), b]) for a, b in zip(*parts, strict=True)))
