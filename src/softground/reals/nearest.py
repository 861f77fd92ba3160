r"""The nearest feasible point under difference constraints: Q* as γ → 0.

.. math:: \Pi_{S_y}(f) = \arg\min_{z \in S_y} \|z - f\|^2 = \arg\max_{z \in S_y} P_\theta(z|x) .

For a choice h(j) of one marked entry per row, S_y is a polyhedron {z : Az ≤ c} whose rows are z_h − z_k ≤ w_jk − w_jh −
m. Its projection is f − Aᵀλ with λ ≥ 0 the maximiser of the dual, found by accelerated proximal gradient steps with a
step per constraint (1 / (degrees of its two components), which bounds AAᵀ) and restarts. Where an example has
converged, its rows choose again the entry that is now least, and it goes on from the weights it has. The point stays
feasible for the new choice, so the distance can only fall; an example ends when no row gains. Where no row has ties the
result is **the** nearest point; with ties it is a local optimum: nearest among the points for its choice of
entries. A last rise (:meth:`~softground.reals.differences.Rows.raised`) of the size of the error makes it exactly
feasible.

All constraints of all examples are one ragged list. Examples do not wait for each other, nor depend on each other: on
a CPU those that have ended leave the list, on a GPU, where recordings need shapes that stay, their points are kept.
Where few steps are to do, a GPU is asked for nothing at all: every example has room for as many constraints as the
fullest, and the whole step is one recording.

References: A. Beck and M. Teboulle, A fast iterative shrinkage-thresholding algorithm, SIAM J. Imaging Sci. 2 (2009);
B. O'Donoghue and E. Candès, Adaptive restart for accelerated gradient schemes, Found. Comput. Math. 15 (2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..dice import Dice
from ..errors import LearnerError
from ..gpu import Recorded
from ..inverses.base import Inverse
from ..kernels.base import Info, Kernel, redrawn
from ..target import Target
from .differences import Rows
from .gaussian import GaussianBelief, snap

STEPS_PER_LOOK = 20  # between looks at which examples have converged, for which a GPU must be waited for
PADDING = 2048  # constraints are padded to a multiple of this on a GPU
SLACK = 1e12  # the weight of an entry that binds nothing
COARSE_TOLERANCE = 1e-3  # for which single precision will do
SHARE_IN_USE = 0.7  # of the constraints, below which the others are dropped
MOST_RECORDED = 200  # steps that are recorded together
LAST_RISES = 40  # rounds of the last rise, where nobody looks whether it has ended; a handful is usual


class Pairs(NamedTuple):
    """The ragged list of (row j, other entry k) of all examples; positions are into the flattened ``[batch · n]``."""

    row: Tensor
    other: Tensor
    first: Tensor  # of the example
    example: Tensor
    value: Tensor  # w_jk, less the margin

    @classmethod
    def of(cls, rows: Rows) -> Pairs:
        """Those of the rows' other entries."""
        example, row, other = torch.isfinite(rows.others).nonzero(as_tuple=True)
        first = example * rows.others.shape[-1]
        return cls(first + row, first + other, first, example, rows.others[example, row, other])

    @classmethod
    def room(cls, rows: Rows, most: int) -> Pairs:
        """The same for examples with at most so many, without asking the device how many there are."""
        value, place = rows.others.flatten(1).topk(most, largest=False, sorted=False)
        n, example = rows.others.shape[-1], torch.arange(len(value), device=value.device)[:, None].expand_as(place)
        first = example * n
        parts = first + place // n, first + place % n, first, example, value.clamp(max=SLACK)
        return cls(*(part.flatten() for part in parts))

    def padded(self, size: int) -> Pairs:
        """With entries that bind nothing, up to a number that is a multiple of ``size``."""
        extra = -len(self.value) % size
        return Pairs(*(pad(part, (0, extra)) for part in self))._replace(value=pad(self.value, (0, extra), value=SLACK))


class Search(NamedTuple):
    """Where the search stands: dual weights of the pairs, and of each example its choice, its momentum, its end."""

    weight: Tensor
    ahead: Tensor  # the weights, carried on by their momentum
    choice: Tensor  # [batch, n]
    momentum: Tensor  # [batch] iterations since the last restart
    point: Tensor  # [batch, n] of those that have ended, and the latest of the others
    ended: Tensor  # [batch]

    @classmethod
    def at(cls, rows: Rows, centre: Tensor, pairs: Pairs) -> Search:
        """At the outset: no constraint counts."""
        weight, momentum = torch.zeros_like(pairs.value), torch.zeros_like(centre[:, 0])
        return cls(weight, weight, rows.choice(centre), momentum, centre, torch.zeros_like(momentum, dtype=torch.bool))


def advance(centre: Tensor, marked: Tensor, tolerance: Tensor, *parts: Tensor) -> Search:
    """Some accelerated steps on the dual weights; ``parts`` are those of :class:`Pairs`, then of :class:`Search`."""
    pairs, search = Pairs(*parts[: len(Pairs._fields)]), Search(*parts[len(Pairs._fields) :])
    flat, example = centre.flatten(), pairs.example
    chosen = marked.gather(2, search.choice[..., None]).squeeze(2)
    upper = pairs.first + search.choice.flatten().index_select(0, pairs.row)
    binds = pairs.value < SLACK
    bound = torch.where(binds, pairs.value - chosen.flatten().index_select(0, pairs.row), SLACK)
    ends = torch.cat([upper, pairs.other])
    degree = torch.zeros_like(flat).index_add_(0, ends, binds.to(flat.dtype).repeat(2))
    step = 1 / degree.index_select(0, ends).view(2, -1).sum(0).clamp(min=1)
    since = search.momentum + torch.arange(STEPS_PER_LOOK, dtype=flat.dtype, device=flat.device)[:, None]
    carry = (since / (since + 3)).index_select(1, example)

    def primal(weights: Tensor) -> Tensor:
        return flat.clone().index_add_(0, pairs.other, weights).index_add_(0, upper, weights, alpha=-1)

    def excess(z: Tensor) -> Tensor:
        sides = z.index_select(0, ends).view(2, -1)  # quicker than z[ends]
        return (sides[0] - sides[1]).sub_(bound)

    weight, ahead = search.weight, search.ahead
    before = change = weight
    for iteration in range(STEPS_PER_LOOK):
        better = torch.addcmul(ahead, step, excess(primal(ahead))).clamp_(min=0)
        change, before, weight = better - weight, ahead, better
        ahead = torch.addcmul(better, carry[iteration], change)
    z = primal(weight)
    rest = excess(z)
    # Feasible, and every constraint with a weight is tight: the conditions for the optimum.
    gap = torch.where(weight > 0, rest.abs(), rest.clamp(min=0))
    there = torch.zeros_like(search.momentum).scatter_reduce_(0, example, gap, "amax") <= tolerance
    z = z.view_as(centre)
    least, again = (marked + z[:, None]).min(-1)
    # Entries level with the one chosen, to within the error, are no reason to go on.
    gains = there[:, None] & (least < chosen + z.gather(1, search.choice) - 10 * tolerance)
    # Where the steps go against the momentum, or the constraints are new, the momentum starts anew.
    against = torch.zeros_like(search.momentum).index_add_(0, example, (before - weight) * change / step)
    anew = (against > 0) | gains.any(-1)
    return Search(
        weight=weight,
        ahead=torch.where(anew.index_select(0, example), weight, ahead),
        choice=torch.where(gains, again, search.choice),
        momentum=torch.where(anew, 0.0, search.momentum + STEPS_PER_LOOK),
        point=torch.where(search.ended[:, None], search.point, z),
        ended=search.ended | (there & ~gains.any(-1)),
    )


ADVANCE = Recorded(advance)


def nearest(
    rows: Rows, centre: Tensor, *, tolerance: float = 1e-4, limit: int = 2_000, most: int | None = None
) -> Tensor:
    """The feasible point next to ``centre[batch, n]``, on the grid and exactly feasible; ``limit`` bounds the steps.

    With ``most``, the constraints that an example has at most, the device is asked for nothing. A point that the last
    rise has not made feasible is then left as it is.
    """
    result = snap(centre)
    there = rows.feasible(result)
    if most is not None:
        found = snap(project(rows, centre.double(), tolerance, limit, most))
        return torch.where(there[:, None], result, rows.raised(found, None, LAST_RISES, look=False)[0])
    rest = (~there).nonzero().flatten()
    if not len(rest):
        return result
    if centre.is_cuda:  # all of them, so that shapes stay the same and recordings serve; the others stay where they are
        rest = torch.arange(len(centre), device=rest.device)
    rows, start = rows.select(rest), centre.double()[rest]
    z, _ = rows.raised(snap(project(rows, start, tolerance, limit)))
    result[rest] = z
    return result


def project(rows: Rows, centre: Tensor, tolerance: float, limit: int, most: int | None = None) -> Tensor:
    """The points nearest to ``centre[batch, n]`` that satisfy all rows to within ``tolerance``."""
    if tolerance >= COARSE_TOLERANCE:
        rows, centre = Rows(rows.marked.float(), rows.others.float()), centre.float()
    if most is not None:
        pairs = Pairs.room(rows, most)
    else:  # on a GPU the lists come in few lengths, so that few recordings serve
        pairs = Pairs.of(rows).padded(PADDING) if centre.is_cuda else Pairs.of(rows)
    fixed = centre, rows.marked, torch.full((), tolerance, dtype=centre.dtype, device=centre.device)
    search = Search.at(rows, centre, pairs)
    for _ in range(max(1, limit // STEPS_PER_LOOK)):
        if most is not None:
            search = advance(*fixed, *pairs, *search)
            continue
        search = ADVANCE(*fixed, *pairs, *search)
        if bool(search.ended.all()):
            break
        going = ~search.ended[pairs.example]
        if not centre.is_cuda and int(going.sum()) < SHARE_IN_USE * len(going):
            kept = going.nonzero().flatten()
            pairs = Pairs(*(part[kept] for part in pairs))
            search = search._replace(weight=search.weight[kept], ahead=search.ahead[kept])
    return search.point.to(torch.float64, copy=True)  # a recording would overwrite it


@dataclass(frozen=True)
class PointMass(Kernel):
    """The point mass at the most probable feasible z, whatever γ is; neither the chain's state nor the dice matter.

    Not a kernel of Q* at a positive temperature but its limit as γ → 0. For reals this is the zero-degree stage: the
    loss is then half the squared distance of f(x) to S_y, and an example whose prediction is feasible adds nothing.
    """

    independent = True
    inverse: Inverse

    def step(self, dice: Dice, z: Tensor, target: Target[GaussianBelief]) -> tuple[Tensor, Info]:
        after = self.inverse.most_probable(target)
        if after is None:
            raise LearnerError(f"{self.inverse!r} cannot find the most probable feasible point; use Intervals.")
        if self.static(target):  # nobody has looked whether the point is feasible
            after = torch.where(self.inverse.feasible(after, target.answers)[:, None], after, z)
        return after, redrawn(z, after, None)

    def static(self, target: Target[Any]) -> bool:
        return self.inverse.static_law(target)
