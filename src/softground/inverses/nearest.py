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
from torch.nn.functional import pad

from ..constraints.difference import Rows
from ..recording import Recorded
from ..spaces.gaussian import snap
from .least import raised

CHECK = 10  # iterations between looks at how near the optimum is, for which a GPU must be waited for
ROOM = 2048  # constraints are padded to a multiple of this on a GPU
SLACK = 1e12  # the bound of a constraint that binds nothing


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

    def padded(self, size: int) -> Halfspaces:
        """With constraints that bind nothing, up to a number that is a multiple of ``size``."""
        extra = -len(self.bound) % size
        upper, lower, example = (pad(part, (0, extra)) for part in (self.upper, self.lower, self.example))
        bound, step = pad(self.bound, (0, extra), value=SLACK), pad(self.step, (0, extra), value=1.0)
        return Halfspaces(upper, lower, bound, example, step)

    def project(self, centre: Tensor, tolerance: float, limit: int) -> Tensor:
        """The point nearest to ``centre[batch, n]`` that satisfies all, to within ``tolerance``."""
        if not len(self.bound):
            return centre
        # On a GPU the lists come in few lengths, so that few recordings serve.
        these = self.padded(ROOM) if centre.is_cuda else self
        fixed = (centre.flatten(), torch.cat([these.upper, these.lower]), these.bound, these.step)
        weight = ahead = torch.zeros_like(these.bound)
        momentum = torch.zeros((), dtype=centre.dtype, device=centre.device)
        z = fixed[0]
        for _ in range(max(1, limit // CHECK)):
            weight, ahead, momentum, z, gap = ADVANCE(*fixed, weight, ahead, momentum)
            if float(gap) <= tolerance:
                break
        point: Tensor = z.view_as(centre).clone()
        return point


def advance(
    centre: Tensor, ends: Tensor, bound: Tensor, step: Tensor, weight: Tensor, ahead: Tensor, momentum: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Some accelerated steps on the dual weights; then the point they stand for, and how far from optimal it is."""

    def point(weights: Tensor) -> Tensor:
        return centre.index_add(0, ends, torch.cat([-weights, weights]))

    def excess(z: Tensor) -> Tensor:
        upper_lower = z[ends].view(2, -1)
        return upper_lower[0] - upper_lower[1] - bound

    against = change = weight
    for _ in range(CHECK):
        better = torch.addcmul(ahead, step, excess(point(ahead))).clamp(min=0)
        change, against, weight = better - weight, ahead - better, better
        ahead = torch.addcmul(better, momentum / (momentum + 3), change)
        momentum = momentum + 1
    z = point(weight)
    rest = excess(z)
    # Feasible, and every constraint with a weight is tight: the conditions for the optimum.
    gap = torch.where(weight > 0, rest.abs(), rest.clamp(min=0)).amax()
    # Where the steps go against the momentum, the momentum starts anew.
    anew = (against * change / step).sum() > 0
    return weight, torch.where(anew, weight, ahead), torch.where(anew, 0.0, momentum), z, gap


ADVANCE = Recorded(advance)


def nearest(rows: Rows, centre: Tensor, *, tolerance: float = 1e-4, limit: int = 500, rounds: int = 10) -> Tensor:
    """The feasible point next to ``centre[batch, n]``, on the grid and exactly feasible."""
    result = snap(centre)
    rest = (~rows.feasible(result)).nonzero().flatten()
    if not len(rest):
        return result
    if centre.is_cuda:  # all of them, so that shapes stay the same and recordings serve; the others stay where they are
        rest = torch.arange(len(centre), device=rest.device)
    rows, start = rows.select(rest), centre.double()[rest]
    z, choice = start.clone(), rows.choice(start)
    everyone = turn = torch.arange(len(rest), device=rest.device)  # examples whose choice is new
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
        turn = everyone if centre.is_cuda else turn
    z, _ = raised(rows, snap(z))
    result[rest] = z
    return result
