r"""The nearest feasible point under difference constraints: Q* at γ = 0.

.. math:: \Pi_{S_y}(f) = \arg\min_{z \in S_y} \|z - f\|^2 .

For a choice h(j) of one marked entry a row, S_y is a polyhedron {z : Az ≤ c} whose rows are z_h − z_k ≤ w_jk − w_jh −
m. Its projection is f − Aᵀλ with λ ≥ 0 the maximiser of the dual, found by accelerated proximal gradient steps with a
step per constraint (1 / (degrees of its two components), which bounds AAᵀ) and restarts. All constraints of all
examples are one ragged list. Then rows choose again the entry that is now least; the point stays feasible for the new
choice, so that the distance can only fall, and the rounds end when no row gains by it. Where no row has ties the
result is **the** nearest point; with ties it is a local optimum: nearest among the points for its choice of entries.
A last rise (:func:`~softground.inverses.least.raised`) of the size of the solver's error makes it exactly feasible.

References: A. Beck and M. Teboulle, A fast iterative shrinkage-thresholding algorithm, SIAM J. Imaging Sci. 2 (2009);
B. O'Donoghue and E. Candès, Adaptive restart for accelerated gradient schemes, Found. Comput. Math. 15 (2015).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..constraints.difference import Rows
from ..spaces.gaussian import snap
from .least import raised

CHECK = 10  # iterations between looks at how near the optimum is, for which a GPU must be waited for


@dataclass(frozen=True, eq=False)
class Halfspaces:
    """The ragged list z[upper] − z[lower] ≤ bound of all examples; positions are into the flattened ``[batch · n]``."""

    upper: Tensor
    lower: Tensor
    bound: Tensor
    example: Tensor
    step: Tensor

    @classmethod
    def of(cls, rows: Rows, choice: Tensor) -> Halfspaces:
        """Those of a choice ``[batch, n]`` of one marked entry a row."""
        batch, n = choice.shape
        example, row, low = torch.isfinite(rows.others).nonzero(as_tuple=True)
        high = choice[example, row]
        bound = rows.others[example, row, low] - rows.marked[example, row, high] - rows.margin
        upper, lower = example * n + high, example * n + low
        degree = torch.zeros(batch * n, dtype=bound.dtype, device=bound.device)
        degree = degree.index_add(0, upper, torch.ones_like(bound)).index_add(0, lower, torch.ones_like(bound))
        return cls(upper, lower, bound, example, 1 / (degree[upper] + degree[lower]))

    def excess(self, z: Tensor) -> Tensor:
        """By how much each constraint is violated (negative: slack)."""
        return z[self.upper] - z[self.lower] - self.bound

    def project(self, centre: Tensor, tolerance: float, limit: int) -> Tensor:
        """The point nearest to ``centre[batch, n]`` that satisfies all, to within ``tolerance``."""
        flat, both = centre.flatten(), torch.cat([self.upper, self.lower])
        weight = ahead = torch.zeros_like(self.bound)

        def point(weights: Tensor) -> Tensor:
            return flat.index_add(0, both, torch.cat([-weights, weights]))

        z, momentum = flat, 0
        for iteration in range(1, limit + 1):
            better = torch.addcmul(ahead, self.step, self.excess(point(ahead))).clamp(min=0)
            change, weight, against, momentum = better - weight, better, ahead - better, momentum + 1
            ahead = torch.add(better, change, alpha=(momentum - 1) / (momentum + 2))
            if iteration % CHECK == 0 or iteration == limit:
                z = point(weight)
                excess = self.excess(z)
                # Feasible, and every constraint with a weight is tight: the conditions for the optimum.
                gap = torch.where(weight > 0, excess.abs(), excess.clamp(min=0))
                if not len(gap) or float(gap.max()) <= tolerance:
                    break
                # Where the step goes against the momentum, the momentum starts anew.
                if float((against * change / self.step).sum()) > 0:
                    ahead, momentum = weight, 0
        return z.view_as(centre)


def nearest(rows: Rows, centre: Tensor, *, tolerance: float = 1e-4, limit: int = 500, rounds: int = 10) -> Tensor:
    """The feasible point next to ``centre[batch, n]``, on the grid and exactly feasible."""
    result = snap(centre)
    rest = (~rows.feasible(result)).nonzero().flatten()
    if not len(rest):
        return result
    rows, start = rows.select(rest), centre.double()[rest]
    z, choice = start.clone(), rows.choice(start)
    turn = torch.arange(len(rest), device=rest.device)  # examples whose choice is new
    for _ in range(rounds):
        some, held = rows.select(turn), choice[turn]
        z[turn] = Halfspaces.of(some, held).project(start[turn], tolerance, limit)
        values = some.marked + z[turn][:, None]
        best, again = values.min(-1)
        # Entries level with the one chosen, to within the error, are no reason to go on.
        better = best < values.gather(2, held[..., None]).squeeze(2) - 10 * tolerance
        choice[turn] = torch.where(better, again, held)
        turn = turn[better.any(-1)]
        if not len(turn):
            break
    z, _ = raised(rows, snap(z))
    result[rest] = z
    return result
