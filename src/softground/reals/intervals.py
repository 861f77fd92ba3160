r"""Reals under difference constraints, without a solver: intervals and least solutions, batched on the device.

**Intervals.** Shift a block B of components by t. With a, b the least marked values of a row inside and outside B,
and c, d the least other values likewise, the row min(a + t, b) + m ≤ min(c + t, d) says

- a + m ≤ c, or t ≥ b + m − c;
- b + m ≤ d, or t ≤ d − m − a;

so the feasible t form **one interval**, ties or not. With a single component it is the set of its feasible values.

**Least solutions** (:mod:`softground.reals.differences`) over all components give a first state from y alone; over the
dropped ones, begun far below, they decide whether a completion exists.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..inverses.base import Fibre, Inverse, Start
from ..inverses.enumeration import default_inverse
from ..kernels.base import Kernel
from ..projections.base import Dropped
from ..target import Target
from .differences import Differences, Rows
from .gaussian import GaussianBelief, snap
from .nearest import MOST_RECORDED, nearest

# How far below everything else dropped components begin their rise: a power of two, so that the grid stays exact.
START_DEPTH = 2.0**20
HINT_PASSES = 2  # in which completed components approach their hints; more would bring chains of them nearer still


def interval(rows: Rows, z: Tensor, block: Tensor) -> tuple[Tensor, Tensor]:
    """The lowest and highest feasible shift ``[batch]`` of the components ``block[batch, n]`` (bool) of feasible z."""
    marked, others, inside = rows.marked + z[:, None], rows.others + z[:, None], block[:, None]
    a, b = (marked.masked_fill(out, math.inf).amin(-1) for out in (~inside, inside))
    c, d = (others.masked_fill(out, math.inf).amin(-1) for out in (~inside, inside))
    return bounds(a, b, c, d)


def bounds(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
    """The interval of t from the four least values of each row, ``[batch, n]`` to ``[batch]``; c and d less m."""
    low = torch.where(a > c, b - c, -math.inf).amax(-1)
    high = torch.where(b > d, d - a, math.inf).amin(-1)
    return low, high


class Intervals(Inverse):
    """Completions, first states and nearest points for :class:`~softground.reals.differences.Differences`.

    A fibre of reals is no list. :meth:`fibre` reports **one** completion, as a solver does, and marks the fibre
    incomplete wherever it holds more; 'none exists' is a proof (complete, and empty). The dropped entries handed in
    are a hint: the completion is the least one above them if there is one, else it comes as near to them from below
    as the rows allow.

    ``spread`` is the standard deviation of the noise above which :meth:`start` takes the least solution, so that chains
    begin in different places; ``nonnegative`` says whether 0 is then their least component, or their mean.
    ``tolerance`` is the accuracy of :meth:`most_probable`, before it is made exactly feasible, and ``limit`` the most
    steps that it takes.
    """

    def __init__(
        self,
        rule: Differences,
        *,
        spread: float = 1.0,
        nonnegative: bool = False,
        tolerance: float = 1e-4,
        limit: int = 2_000,
    ) -> None:
        self.rule = self.constraint = rule
        self.space = rule.space
        self.spread, self.nonnegative = spread, nonnegative
        self.tolerance, self.limit = tolerance, limit
        self._last: tuple[Tensor, int, Rows, Tensor] | None = None

    def __repr__(self) -> str:
        return f"Intervals({self.space!r}, margin {self.rule.margin:g})"

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        (rows, base), sites = self._known(y), dropped.sites
        kept = dropped.kept(z.shape[1])
        few, hint = rows.seen_from(z, ~kept, sites), pad(z.gather(1, sites), (0, 1))
        free = pad(torch.ones_like(sites, dtype=torch.bool), (0, 1))
        # The least completion above the hint will often do.
        state, settled = few.raised(hint, free)
        exists = few.feasible(state) & settled
        rest = (~exists).nonzero().flatten()
        if len(rest):
            # Far below all that stays, in the places that a solution would have.
            low = z.masked_fill(~kept, math.inf).amin(-1, keepdim=True) - base.amax(-1, keepdim=True) - START_DEPTH
            floor = pad((base + low).gather(1, sites), (0, 1))
            state[rest], exists[rest], settled[rest] = self._from_below(few.select(rest), floor[rest], hint[rest], free)
        return Fibre(state[:, None, :-1], exists[:, None], settled & ~exists)

    def _known(self, y: Tensor) -> tuple[Rows, Tensor]:
        """The rows of y and their least solution above 0, remembered for the next step of the same walk."""
        if self._last is None or self._last[0] is not y or self._last[1] != y._version:
            rows = self.rule.rows(y)
            base, _ = rows.raised(torch.zeros(len(y), self.space.sites, dtype=torch.float64, device=y.device))
            self._last = y, y._version, rows, base
        return self._last[2:]

    def _from_below(self, rows: Rows, floor: Tensor, hint: Tensor, free: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The least completion of all, brought as near to the hint as the others allow: together, then one by one.

        Components that nothing holds up lie where their rise began. They may hold each other down, so that none could
        leave alone; they leave together.
        """
        state, settled = rows.raised(floor, free[: len(floor)])
        exists = rows.feasible(state) & settled
        found = exists.nonzero().flatten()
        if not len(found):
            return state, exists, settled
        rows, one, hint = rows.select(found), state[found], hint[found]
        alone = torch.eye(hint.shape[1], dtype=torch.bool, device=hint.device)[:-1, None].expand(-1, *hint.shape)
        for block in [free[: len(one)] & (one < hint - START_DEPTH / 2), *list(alone) * HINT_PASSES]:
            least, most = interval(rows, one, block)
            wanted = (hint - one).masked_fill(~block, math.inf).amin(-1)
            shift = torch.minimum(torch.maximum(wanted, least), most)
            one = torch.where(block, one + shift[:, None], one)  # an empty block has an infinite shift, not used
        state[found] = one
        return state, exists, settled

    def start(self, y: Tensor, seed: int) -> Start:
        """The least solution above random noise, shifted to mean 0 or least component 0."""
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(len(y), self.space.sites, generator=generator, dtype=torch.float64)
        rows = self.rule.rows(y)
        z, settled = rows.raised(snap(self.spread * noise).to(y.device))
        z = z - (z.amin(-1, keepdim=True) if self.nonnegative else snap(z.mean(-1, keepdim=True)))
        return Start(z, settled & rows.feasible(z), torch.zeros_like(settled))

    def most_probable(self, target: Target[GaussianBelief]) -> Tensor:
        """The feasible point next to each example's mean, Q* at γ = 0: see :mod:`softground.reals.nearest`."""
        rows, most = self.rule.rows(target.answers), self.rule.most_others if self.static_law(target) else None
        return nearest(rows, target.weights.mean, tolerance=self.tolerance, limit=self.limit, most=most)

    def static_law(self, target: Target[GaussianBelief]) -> bool:
        """Of the law at γ = 0, the point that :meth:`most_probable` finds."""
        return target.answers.is_cuda and self.limit <= MOST_RECORDED

    def default_kernel(self) -> Kernel:
        from .gibbs import SiteGibbs  # which needs the intervals

        return SiteGibbs(self.rule)


@default_inverse.register
def _(constraint: Differences, space: object) -> Intervals:
    return Intervals(constraint)
