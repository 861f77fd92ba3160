r"""Linear rules between reals, written as Python: equations and inequalities of sums of z, which may depend on y.

``rule(z, y)`` gets a list of one :class:`Affine` expression per site and the answer, and returns a comparison or a list
of them, which must all hold: totals, balances, orders, ranges. S_y is a polyhedron. Whether a comparison is strict
makes no difference: its boundary has probability 0.

>>> from itertools import pairwise
>>> order = LinearRule(lambda z, y: [z[a] <= z[b] for a, b in pairwise(y)], Gaussian(3))
>>> order.feasible(torch.tensor([[5.0, 1.0, 2.0], [1.0, 2.0, 5.0]]), order.encode([(1, 2, 0)] * 2)).tolist()
[True, False]

**Polyhedra** low ≤ A z ≤ high, one per example. Rows with low = high are equations E z = e. They span a plane with the
projector :math:`P = I - E^+ E`; all that is done here stays in it. A row is *flat* where P a = 0: the equations decide
it.

**Nearest point.** With a multiplier λ per row, Hildreth's method takes the rows in turn: the change of λ that brings
a·z to its nearest bound, or λ to 0 where that comes first, moves z along P a. It is coordinate ascent on the dual.

**Inside.** A linear program widens a ball, up to a radius, as long as it fits: :math:`\max r` with
:math:`a \cdot z + r |P a| \le high` and likewise below. Where r < 0 there is no z at all, with proof. Many examples
are one program, which HiGHS (scipy) solves in one go.

References: C. Hildreth, A quadratic programming procedure, Naval Research Logistics Quarterly 4 (1957); S. Boyd and L.
Vandenberghe, Convex optimization (2004), 8.5.1.

**Equations alone**, A z = y, have a Gaussian law in closed form. They are sums, balances, means and differences that
are known: instruments whose readings add up, flows that meet. With z ~ N(f, vI) and the projection
:math:`\Pi x = x + A^\top (A A^\top)^{-1} (y - A x)` onto S_y,

.. math:: \log P(A z = y) = \log N\big(y;\, A f,\, v A A^\top\big), \qquad
          z \,|\, A z = y \;\sim\; N\big(\Pi f,\; v (I - A^\top (A A^\top)^{-1} A)\big),

so that the mean and the mode are Πf, and Πx is an exact draw where x is one of N(f, vI). The first is a density.
Reference: C. E. Rasmussen and C. K. I. Williams, Gaussian processes for machine learning (2006), A.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..constraints.answers import INTERNING
from ..constraints.base import Constraint
from ..dice import Dice
from ..errors import ConstraintError
from ..inverses.base import Fibre, Inverse, Start
from ..inverses.enumeration import default_inverse
from ..inverses.sets import Law
from ..projections.base import Dropped
from ..target import Target
from .gaussian import GRID, Gaussian, GaussianBelief, snap

ROUNDING = 2 * GRID  # of a state, to the grid
FLAT = 1e-9  # of a row's length: less than this of it in the plane is nothing
PRECISE = 1e-9  # the longest move in a round after which the nearest point is found
MOST_ROUNDS = 2_000
TOGETHER = 200  # examples in one linear program


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
    :class:`~softground.reals.linear.Equations`, whose law is in closed form.

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


class Polyhedra(NamedTuple):
    """A batch of polyhedra; rows that an example does not have are 0 and without bounds."""

    rows: Tensor  # [batch, R, n]
    low: Tensor  # [batch, R]
    high: Tensor
    back: Tensor  # [batch, n, R]: E⁺
    inside: Tensor  # [batch, R, n]: P a, and 0 where that is flat

    @classmethod
    def of(cls, rows: Tensor, low: Tensor, high: Tensor) -> Polyhedra:
        """Those of some rows and bounds."""
        equations = rows * (low == high)[..., None]
        back = torch.linalg.pinv(equations)
        inside = rows - rows @ back @ equations
        flat = inside.norm(dim=-1) <= FLAT * rows.norm(dim=-1)
        return cls(rows, low, high, back, inside.masked_fill(flat[..., None], 0.0))

    def at(self, index: Tensor) -> Polyhedra:
        """Some of the batch."""
        return Polyhedra(*(part[index] for part in self))

    def values(self, z: Tensor) -> Tensor:
        """A z, ``[batch, R]``."""
        return (self.rows @ z[..., None]).squeeze(-1)

    def within(self, z: Tensor, tolerance: float = 0.0) -> Tensor:
        """Whether every row holds, equations to within a ``tolerance``, and all up to rounding: ``[batch]``."""
        rounding = ROUNDING * (1 + self.rows.abs().sum(-1))
        slack = torch.where(self.low == self.high, rounding.clamp(min=tolerance), rounding)
        value = self.values(z.double())
        return ((value >= self.low - slack) & (value <= self.high + slack)).all(-1)

    def level(self, z: Tensor) -> Tensor:
        """The nearest point that satisfies the equations."""
        gap = torch.where(self.low == self.high, self.low - self.values(z), 0.0)
        return z + (self.back @ gap[..., None]).squeeze(-1)

    def along(self, direction: Tensor) -> Tensor:
        """The part of ``direction[batch, n]`` in the plane, at length 1; 0 where the plane is a point."""
        equations = self.rows * (self.low == self.high)[..., None]
        part = direction - (self.back @ (equations @ direction[..., None])).squeeze(-1)
        length = part.norm(dim=-1, keepdim=True)
        return torch.where(length > FLAT, part / length, 0.0)

    def span(self, z: Tensor, direction: Tensor) -> tuple[Tensor, Tensor]:
        """The least t ≤ 0 and the greatest t ≥ 0, ``[batch]``, for which z + t·direction keeps the inequalities."""
        slope, value = (self.inside @ direction[..., None]).squeeze(-1), self.values(z)
        ends = (self.low - value).clamp(max=0) / slope, (self.high - value).clamp(min=0) / slope
        bound = slope.abs() > FLAT * self.rows.norm(dim=-1)
        least = torch.where(bound, torch.minimum(*ends), -math.inf).amax(-1)
        return least, torch.where(bound, torch.maximum(*ends), math.inf).amin(-1)

    def nearest(self, centre: Tensor) -> Tensor:
        """The nearest points to ``centre[batch, n]``, by Hildreth's method; nothing of use where there is no point."""
        z, weight = self.level(centre.double()), torch.zeros_like(self.low)
        square = self.inside.square().sum(-1)
        used = ((square > 0) & (torch.isfinite(self.low) | torch.isfinite(self.high))).any(0).nonzero().flatten()
        for _ in range(MOST_ROUNDS):
            before = weight.clone()
            for row in used.tolist():
                a, size = self.inside[:, row], square[:, row].clamp(min=1e-300)
                value, own = (self.rows[:, row] * z).sum(-1), weight[:, row].clone()
                above, below = (own + (value - side[:, row]) / size for side in (self.high, self.low))
                weight[:, row] = torch.where(square[:, row] > 0, above.clamp(min=0) + below.clamp(max=0), 0.0)
                z = z - (weight[:, row] - own)[:, None] * a
            # z may come back to where it was while the weights of rows that depend on each other still change.
            if not bool((((weight - before).square() * square).amax(-1).sqrt() > PRECISE).any()):
                break
        return z

    def middle(self, radius: float) -> tuple[Tensor, Tensor]:
        """Points with as much room as there is, up to a radius: ``[batch, n]``, and the room ``[batch]``, −∞ for none.

        A negative room is a proof that the polyhedron is empty.
        """
        z = self.level(torch.zeros_like(self.rows[:, 0]))
        room = torch.full((len(z),), -math.inf, dtype=torch.float64, device=z.device)
        flat = self.inside.abs().amax(-1, keepdim=True) == 0  # which nothing in the plane could mend
        low, high = (side.masked_fill(~flat[..., 0], 0.0) for side in (self.low, self.high))
        possible = self._replace(rows=self.rows * flat, low=low, high=high)
        for some in torch.split(possible.within(z).nonzero().flatten(), TOGETHER):
            z[some], room[some] = self.at(some)._program(radius)
        return z, room

    def _program(self, radius: float) -> tuple[Tensor, Tensor]:
        from scipy.optimize import linprog  # here, because it is slow to import
        from scipy.sparse import block_diag

        # Each example's unknowns are x and r, with z = start + P x; then a·z = a·start + (P a)·x.
        start = self.level(torch.zeros_like(self.rows[:, 0]))
        values, (batch, n) = self.values(start), start.shape
        rows = torch.cat([self.inside, -self.inside], 1)
        free = torch.cat([self.high - values, values - self.low], 1)
        used = (rows != 0).any(-1) & torch.isfinite(free)
        rows = torch.cat([rows, rows.norm(dim=-1, keepdim=True)], -1)
        matrix = block_diag([one[held].cpu().numpy() for one, held in zip(rows, used, strict=True)], "csr")
        bounds = ([(None, None)] * n + [(None, radius)]) * batch
        found = linprog(([0.0] * n + [-1.0]) * batch, matrix, free[used].cpu().numpy(), bounds=bounds)
        x = torch.as_tensor(found.x, dtype=torch.float64, device=start.device).view(batch, n + 1)
        return self.level(start + x[:, :n]), x[:, n]


class Equations(Constraint):
    """z ∈ S_y ⇔ A z = y, to within ``tolerance`` (by default σ); an answer is a number for each row of the matrix A.

    What learns takes the equations exactly; the tolerance only says which readings count as right.

    >>> total = Equations([[1, 1, 1]], Gaussian(3, sigma=0.1))
    >>> total.feasible(torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 4.0]]), total.encode([6, 6])).tolist()
    [True, False]
    """

    def __init__(
        self, matrix: Sequence[Sequence[float]] | Tensor, space: Gaussian, *, tolerance: float | None = None
    ) -> None:
        if not isinstance(space, Gaussian):
            raise ConstraintError(f"{space!r} was given; expected a Gaussian space. For symbols there is Sum, in All.")
        self.space, self.tolerance = space, space.sigma if tolerance is None else tolerance
        self.matrix = torch.as_tensor(matrix, dtype=torch.float64)
        if self.matrix.dim() != 2 or self.matrix.shape[1] != space.sites or not len(self.matrix):
            raise ConstraintError(
                f"A matrix of shape {tuple(self.matrix.shape)} was given; expected one or more rows of {space.sites} "
                "numbers, one for each site."
            )
        if not bool(torch.isfinite(self.matrix).all()) or int(torch.linalg.matrix_rank(self.matrix)) < len(self.matrix):
            raise ConstraintError(
                "The equations' rows depend on each other, or hold something that is no number; leave out the rows "
                "that follow from others."
            )
        if not 0 < self.tolerance < math.inf:
            raise ConstraintError(f"tolerance={tolerance} was given; expected a positive number.")
        self.size = 1 + float(self.matrix.abs().sum(1).max())  # of a row, which errors of z grow by
        self.back = torch.linalg.pinv(self.matrix)  # Aᵀ(AAᵀ)⁻¹

    def __repr__(self) -> str:
        return f"Equations({len(self.matrix)} of {self.space.sites} reals)"

    def encode(self, answers: Sequence[Any]) -> Tensor:
        """Answers as numbers ``[len(answers), rows of A]``."""
        rows = []
        for position, answer in enumerate(answers):
            try:
                row = torch.as_tensor(answer, dtype=torch.float64).reshape(-1)
            except (TypeError, ValueError):  # a text, or None
                row = torch.zeros(0)
            if len(row) != len(self.matrix) or not bool(torch.isfinite(row).all()):
                raise ConstraintError(
                    f"Example {position}: the answer {answer!r} was given; expected {len(self.matrix)} finite "
                    "number(s), one for each equation."
                )
            rows.append(row)
        return torch.stack(rows) if rows else torch.zeros(0, len(self.matrix), dtype=torch.float64)

    def gap(self, z: Tensor, y: Tensor) -> Tensor:
        """y − A z, ``[rows, equations]``."""
        missing: Tensor = y.to(z.dtype) - z @ self.matrix.to(z).T
        return missing

    def nearest(self, z: Tensor, y: Tensor) -> Tensor:
        """Πz, the nearest point of S_y."""
        moved: Tensor = z + self.gap(z, y) @ self.back.to(z).T
        return moved

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        return self.within(z, y, self.tolerance)

    def within(self, z: Tensor, y: Tensor, tolerance: float) -> Tensor:
        """Whether every equation holds to within a tolerance, ``[rows]``."""
        return (self.gap(z.double(), y).abs() <= tolerance).all(-1)

    def admissible(self, z: Tensor) -> Tensor:
        """Any z is right for some answer."""
        return torch.ones(len(z), dtype=torch.bool, device=z.device)

    def answer(self, y: Tensor) -> Any:
        return y.item() if len(y) == 1 else tuple(y.tolist())

    def compute(self, z: Tensor) -> list[Any]:
        return [self.answer(row) for row in z.double() @ self.matrix.to(z.device).T]


class Conditional(Inverse):
    """First states, completions and the law of :class:`Equations`, in closed form.

    A fibre of reals is no list: it holds **one** completion, the nearest to the dropped entries handed in, and is
    incomplete where there are more; 'none exists' is a proof.

    >>> total = Equations([[1, 1, 1]], Gaussian(3))
    >>> y = total.encode([9])
    >>> law = Conditional(total).law(Target(total.space.belief(torch.tensor([[1.0, 2.0, 3.0]])), y, 1.0))
    >>> law.marginals().round(decimals=3).tolist()
    [[2.0, 3.0, 4.0]]
    """

    exact = True

    def __init__(self, rule: Equations) -> None:
        self.rule = self.constraint = rule
        self.space = rule.space

    def __repr__(self) -> str:
        return f"Conditional({self.rule!r})"

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        columns = self.rule.matrix.to(z.device)[:, dropped.sites].transpose(0, 1)  # [batch, equations, dropped]
        change = torch.linalg.pinv(columns) @ self.rule.gap(z, y)[..., None]
        values = snap(z.gather(1, dropped.sites) + change.squeeze(-1))
        exists = self.rule.within(z.scatter(1, dropped.sites, values), y, ROUNDING * self.rule.size)
        single = torch.linalg.matrix_rank(columns) == dropped.count
        return Fibre(values[:, None], exists[:, None], ~exists | single)

    def start(self, y: Tensor, seed: int) -> Start:
        """A point of S_y, near a draw from N(0, σ²I)."""
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(len(y), self.space.sites, generator=generator, dtype=torch.float64).to(y.device)
        found = torch.ones(len(y), dtype=torch.bool, device=y.device)
        return Start(snap(self.rule.nearest(self.space.sigma * noise, y)), found, found)

    def law(self, target: Target[GaussianBelief]) -> Law:
        return ConditionalLaw(self.rule, target.weights, target.answers)


class ConditionalLaw(Law):
    """N(f, vI) given A z = y. At v = 0 (γ = 0) it is the point Πf; at v = ∞ it has a mean, but no draws."""

    def __init__(self, rule: Equations, weights: GaussianBelief, y: Tensor) -> None:
        self.rule, self.weights, self.y = rule, weights, y

    def draw(self, dice: Dice) -> Tensor:
        return snap(self.rule.nearest(self.weights.sample(dice), self.y))

    def marginals(self) -> Tensor:
        """The means, as those of :class:`~softground.reals.gaussian.GaussianBelief` are."""
        return self.rule.nearest(self.weights.mean.detach(), self.y)

    def draw_with_marginals(self, dice: Dice) -> tuple[Tensor, Tensor]:
        return self.draw(dice), self.marginals()

    def log_mass(self) -> Tensor:
        """The log-density of y, differentiable in the means."""
        mean, variance = self.weights.mean, self.weights.variance
        if not 0 < variance < math.inf:
            return torch.zeros(len(mean), dtype=mean.dtype, device=mean.device)
        factor = torch.linalg.cholesky(variance * self.rule.matrix @ self.rule.matrix.T).to(mean)
        law = torch.distributions.MultivariateNormal(torch.zeros_like(factor[0]), scale_tril=factor)
        return law.log_prob(self.rule.gap(mean, self.y))  # type: ignore[no-any-return,no-untyped-call]

    def mode(self) -> Tensor:
        return snap(self.marginals())


@default_inverse.register
def _(constraint: Equations, space: Gaussian) -> Conditional:
    return Conditional(constraint)
