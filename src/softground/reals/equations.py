r"""Known sums of real symbols, A z = y: totals, balances, means and differences, with Q* in closed form.

Examples are instruments whose readings add up, and flows that meet. With z ~ N(f, vI) and the projection
:math:`\Pi x = x + A^\top (A A^\top)^{-1} (y - A x)` onto S_y,

.. math:: \log P(A z = y) = \log N\big(y;\, A f,\, v A A^\top\big), \qquad
          z \,|\, A z = y \;\sim\; N\big(\Pi f,\; v (I - A^\top (A A^\top)^{-1} A)\big),

so the mean and the mode are Πf, and Πx is an exact draw if x is a draw from N(f, vI). The first is a density.

Reference: C. E. Rasmussen and C. K. I. Williams, Gaussian processes for machine learning (2006), A.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

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


class Equations(Constraint):
    """z ∈ S_y ⇔ A z = y, to within ``tolerance`` (by default σ); an answer is a number for each row of the matrix A.

    Training uses the equations exactly; the tolerance only determines which readings count as correct.

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
            raise ConstraintError.of({"tolerance": tolerance}, "expected a positive number.")
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
                    f"the answer {answer!r} was given; expected {len(self.matrix)} finite number(s), one for each "
                    "equation.",
                    example=position,
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
        """Always true: any z has an answer."""
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

    def log_mass(self, *, quiet: bool = False) -> Tensor:
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
