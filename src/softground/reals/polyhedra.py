r"""Polyhedra low ≤ A z ≤ high, one per example: lines through them, their nearest points, and points well inside.

Rows with low = high are equations E z = e. They span a plane with the projector :math:`P = I - E^+ E`; all that is done
here stays in it. A row is *flat* where P a = 0: the equations decide it.

**Nearest point.** With a multiplier λ per row, Hildreth's method takes the rows in turn: the change of λ that brings
a·z to its nearest bound, or λ to 0 where that comes first, moves z along P a. It is coordinate ascent on the dual.

**Inside.** A linear program widens a ball, up to a radius, as long as it fits: :math:`\max r` with
:math:`a \cdot z + r |P a| \le high` and likewise below. Where r < 0 there is no z at all, with proof. Many examples
are one program, which HiGHS (scipy) solves in one go.

References: C. Hildreth, A quadratic programming procedure, Naval Research Logistics Quarterly 4 (1957); S. Boyd and L.
Vandenberghe, Convex optimization (2004), 8.5.1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from .gaussian import GRID

ROUNDING = 2 * GRID  # of a state, to the grid
FLAT = 1e-9  # of a row's length: less than this of it in the plane is nothing
PRECISE = 1e-9  # the longest move in a round after which the nearest point is found
MOST_ROUNDS = 2_000
TOGETHER = 200  # examples in one linear program


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
