r"""Difference constraints with ties: in each row, the least of z_k + w_jk must be at a marked place.

An answer y is a table of weights w (0: no entry) and marks. Let H_j be the marked entries of row j and N_j its others.
z is feasible when every row with a mark has

.. math:: \min_{h \in H_j} (w_{jh} + z_h) + m \;\le\; \min_{k \in N_j} (w_{jk} + z_k)

with a margin m ≥ 0. With one mark per row these are difference constraints z_h − z_k ≤ w_jk − w_jh − m, a convex set;
several marks (ties) make it a union of such sets, closed under z ↦ z + t and under the entrywise minimum of two
solutions (a tropical polyhedron). For shortest paths, w are a graph's edges and the marks its true next hops: then a
greedy walk on w_jk + z_k never leaves a shortest path. With whole-number weights the true distances satisfy any
margin m ≤ 1; a larger margin has solutions for some graphs and none for others.

Being closed under the minimum, the set has above any point a **least** solution, if it has any there. It is reached
from below: raise every component that is too low,

.. math:: z_k \leftarrow \max\Big(z_k,\; \max_j \big( \min_h (w_{jh} + z_h) + m - w_{jk} \big)\Big),

until nothing changes. Where no row has ties this is Bellman and Ford's algorithm.

Weights and margin are rounded to the grid of :mod:`softground.reals.gaussian`, where all arithmetic is exact.

Reference: S. Gaubert and R. D. Katz, Minimal half-spaces and external representation of tropical polyhedra, J.
Algebraic Combinatorics 33 (2011).

**Intervals.** Shift a block B of components by t. With a, b the least marked values of a row inside and outside B,
and c, d the least other values likewise, the row min(a + t, b) + m ≤ min(c + t, d) says

- a + m ≤ c, or t ≥ b + m − c;
- b + m ≤ d, or t ≤ d − m − a;

so the feasible t form **one interval**, ties or not. With a single component it is the set of its feasible values.

**Least solutions** over all components give a first state from y alone; over the dropped ones, begun far below, they
decide whether a completion exists. No solver is needed: all of this is batched on the device.

**The nearest feasible point** is Q* as γ → 0:

.. math:: \Pi_{S_y}(f) = \arg\min_{z \in S_y} \|z - f\|^2 = \arg\max_{z \in S_y} P_\theta(z|x) .

For a choice h(j) of one marked entry per row, S_y is a polyhedron {z : Az ≤ c} whose rows are z_h − z_k ≤ w_jk − w_jh −
m. Its projection is f − Aᵀλ with λ ≥ 0 the maximiser of the dual, found by accelerated proximal gradient steps with a
step per constraint (1 / (degrees of its two components), which bounds AAᵀ) and restarts. Where an example has
converged, its rows choose again the entry that is now least, and it goes on from the weights it has. The point stays
feasible for the new choice, so the distance can only fall; an example ends when no row gains. Where no row has ties the
result is **the** nearest point; with ties it is a local optimum: nearest among the points for its choice of
entries. A last rise (:meth:`~softground.tasks.sdsp.differences.DifferenceRows.raised`) of the size of the error makes
it exactly feasible.

All constraints of all examples are one ragged list. Examples do not wait for each other, nor depend on each other:
those that have ended leave the list. For few steps, nothing is copied back from a GPU: every example has room for as
many constraints as the fullest, and the whole step is one recording.

References: A. Beck and M. Teboulle, A fast iterative shrinkage-thresholding algorithm, SIAM J. Imaging Sci. 2 (2009);
B. O'Donoghue and E. Candès, Adaptive restart for accelerated gradient schemes, Found. Comput. Math. 15 (2015).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from ...constraints.base import Constraint
from ...errors import ConstraintError
from ...inverses.base import Fibre, Inverse, Start, mode_by_search, own_kernel
from ...inverses.enumeration import default_inverse
from ...kernels.base import Kernel
from ...projections.base import Dropped
from ...reals.gaussian import GRID, Gaussian, GaussianBelief, snap
from ...target import Target

# Rounds after which a rise is given up. Gains are sums of weights, so that a few rounds per component are usual.
MOST_ROUNDS = 2_000
ROUNDS_PER_LOOK = 4  # on a GPU, where looking whether a rise has ended means to wait for the device
# How far below everything else dropped components begin their rise: a power of two, so that the grid stays exact.
START_DEPTH = 2.0**20
HINT_PASSES = 2  # in which completed components approach their hints; more would bring chains of them nearer still
STEPS_PER_LOOK = 20  # between looks at which examples have converged, for which a GPU must be waited for
SLACK = 1e12  # the weight of an entry that binds nothing
COARSE_TOLERANCE = 1e-3  # for which single precision will do
SHARE_IN_USE = 0.7  # of the constraints, below which the others are dropped
MOST_RECORDED = 200  # steps that are recorded together
LAST_RISES = 40  # rounds of the last rise if nothing checks whether it has ended; a handful usually suffices


@dataclass(frozen=True, eq=False)
class DifferenceRows:
    """An answer's rows, ready for arithmetic: ``[batch, rows, n]`` weights, ∞ where there is no entry of that kind.

    ``others`` are less the margin, so that no sum below needs one.
    """

    marked: Tensor
    others: Tensor

    def sides(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Both sides of each row's inequality, ``[batch, rows]``: least marked value, least other value."""
        return (self.marked + z[:, None]).amin(-1), (self.others + z[:, None]).amin(-1)

    def choice(self, z: Tensor) -> Tensor:
        """The marked entry that is least in each row, ``[batch, rows]`` (0 in rows without marks)."""
        return (self.marked + z[:, None]).argmin(-1)

    def feasible(self, z: Tensor) -> Tensor:
        """Whether every row holds: ``[batch]``."""
        left, right = self.sides(z)
        return (left <= right).all(-1)

    def select(self, index: Tensor) -> DifferenceRows:
        """Some of the batch's examples."""
        return DifferenceRows(self.marked[index], self.others[index])

    def seen_from(self, z: Tensor, free: Tensor, sites: Tensor) -> DifferenceRows:
        """What the rows ask of the components at ``sites[batch, d]`` while those that are not ``free`` stay as in z.

        The others of each row come down to their least: to one component more, the last, which is fixed at 0.
        """
        fixed = z.masked_fill(free, math.inf)
        index = sites[:, None].expand(-1, self.marked.shape[1], -1)
        parts = ((part.gather(2, index), (part + fixed[:, None]).amin(-1)) for part in (self.marked, self.others))
        return DifferenceRows(*(torch.cat([own, rest[..., None]], -1) for own, rest in parts))

    def raised(
        self, z: Tensor, free: Tensor | None = None, rounds: int = MOST_ROUNDS, look: bool = True
    ) -> tuple[Tensor, Tensor]:
        """The least solution above z that agrees with it outside ``free``, and whether the rise came to an end.

        Components that are not free may leave rows violated; the caller checks. Without a ``look`` at the device it
        takes all ``rounds``.
        """
        settled = torch.zeros(len(z), dtype=torch.bool, device=z.device)
        pause = ROUNDS_PER_LOOK if z.is_cuda else 1
        silent = torch.isinf(self.marked).all(-1)  # rows without marks
        for number in range(1, rounds + 1):
            least = (self.marked + z[:, None]).amin(-1).masked_fill(silent, 0.0)
            higher = torch.maximum(z, (least[:, :, None] - self.others).amax(1))
            if free is not None:
                higher = torch.where(free, higher, z)
            settled = (higher == z).all(-1)
            z = higher
            if look and number % pause == 0 and bool(settled.all()):
                break
        return z, settled


class Differences(Constraint):
    """z ∈ S_y ⇔ in each row of y the least w_jk + z_k is at a mark, by ``margin`` at least.

    y's tables are ``sites × sites``. The margin says how far the marked entries must lead; 0 admits equality, where a
    greedy search may still choose wrongly. Where no z leads by the margin, an answer may have a smaller one of its own:
    the first of ``margin``, ``margin`` − 1, … that some z leads by, and ``lowest`` where none above it has any.

    >>> rule = Differences(Gaussian(3))
    >>> weights, marks = [[0, 0, 0], [1, 0, 5], [0, 0, 0]], [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
    >>> y = rule.encode([(weights, marks)] * 2)
    >>> rule.feasible(torch.tensor([[0.0, 9.0, -3.0], [0.0, 9.0, -6.0]]), y).tolist()
    [True, False]
    """

    def __init__(self, space: Gaussian, margin: float = 0.0, lowest: float | None = None) -> None:
        if not 0 <= margin < math.inf:
            raise ConstraintError.of({"margin": margin}, "expected a finite number, 0 or more.")
        if not 0 <= (margin if lowest is None else lowest) <= margin:
            raise ConstraintError.of({"lowest": lowest}, f"expected a margin from 0 to {margin:g}.")
        self.space = space
        self.margin, self.lowest = (round(m / GRID) * GRID for m in (margin, margin if lowest is None else lowest))
        self.most_others = 1  # entries without a mark, of the answer seen so far that has the most

    def encode(self, answers: Sequence[Any]) -> Tensor:
        """Pairs (weights, marks) of ``n × n`` tables as one tensor ``[len(answers), 2, n, n]``.

        There marks are 1, and all other entries hold minus the answer's margin.
        """
        n = self.space.sites
        rows = []
        for position, answer in enumerate(answers):
            parts = answer if isinstance(answer, Tensor) else [torch.as_tensor(part).double() for part in answer]
            pair = parts if isinstance(parts, Tensor) else torch.stack(parts)
            if tuple(pair.shape) != (2, n, n):
                raise ConstraintError(
                    f"Answer {position} has shape {tuple(pair.shape)}; expected (2, {n}, {n}): weights, then marks."
                )
            rows.append(pair)
        y = torch.stack(rows).double() if rows else torch.zeros(0, 2, n, n, dtype=torch.float64)
        weights, marks = snap(y[:, 0]), y[:, 1]
        self.most_others = max([self.most_others, *((weights > 0) & (marks == 0)).sum((1, 2)).tolist()])
        good = torch.isfinite(y[:, 0]) & (y[:, 0] >= 0) & ((marks == 0) | ((marks == 1) & (weights > 0)))
        if not bool(good.all()):
            row = int((~good).flatten(1).any(1).nonzero()[0])
            raise ConstraintError(
                f"Answer {row} has a weight that is negative or not finite, or a mark where there is no entry. Weights "
                "are positive, 0 for no entry; marks are 1 at entries that may be a row's least, else 0."
            )
        return torch.stack([weights, torch.where(marks > 0, marks, -self._margins(weights, marks)[:, None, None])], 1)

    def _margins(self, weights: Tensor, marks: Tensor) -> Tensor:
        """Each answer's margin, ``[batch]``: raised as long as the least solution above the one before it exists.

        For one choice of marked entries a least solution is a longest path. From one margin to the next, each of its
        steps grows by at most their difference; a component that rises by more than n times that never stops.
        """
        count = math.ceil(self.margin - self.lowest)
        margins = [self.lowest, *(self.margin - less for less in reversed(range(count)))]
        found = torch.full((len(weights),), self.lowest, dtype=torch.float64)
        left, least = torch.arange(len(weights)), torch.zeros_like(weights[:, 0])
        for before, margin in zip([0.0, *margins], margins if count else [], strict=False):
            rows = self.rows(torch.stack([weights[left], torch.where(marks[left] > 0, 1.0, -margin)], 1))
            limit = self.space.sites * (margin - before if before else float(weights.max()) + margin)
            z, going = least[left], torch.arange(len(left))
            for _ in range(MOST_ROUNDS):
                z[going], settled = rows.select(going).raised(z[going], rounds=ROUNDS_PER_LOOK)
                going = going[~settled & ((z - least[left])[going].amax(-1) <= limit)]
                if not len(going):
                    break
            has = rows.feasible(z)
            left = left[has]
            least[left], found[left] = z[has], margin
        return found

    def rows(self, y: Tensor) -> DifferenceRows:
        """Encoded answers as :class:`DifferenceRows`. A row without marks asks for nothing."""
        weights, marks = y[:, 0].double(), y[:, 1] > 0
        others = (weights > 0) & ~marks & marks.any(-1, keepdim=True)
        less = weights + y[:, 1].double()
        return DifferenceRows(weights.masked_fill(~marks, math.inf), less.masked_fill(~others, math.inf))

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        return self.rows(y).feasible(z.double())

    def admissible(self, z: Tensor) -> Tensor:
        """Any z is right for some answer."""
        return torch.ones(len(z), dtype=torch.bool, device=z.device)

    def answer(self, y: Tensor) -> dict[int, list[int]]:
        """The marked entries of each row that has any."""
        return {j: row.nonzero().flatten().tolist() for j, row in enumerate(y[1] > 0) if bool(row.any())}


def interval(rows: DifferenceRows, z: Tensor, block: Tensor) -> tuple[Tensor, Tensor]:
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
    """Completions, first states and nearest points for :class:`~softground.tasks.sdsp.differences.Differences`.

    A fibre of reals is no list. :meth:`fibre` reports **one** completion, as a solver does, and marks the fibre
    incomplete wherever it holds more; 'none exists' is a proof (complete, and empty). The dropped entries handed in
    are a hint: the completion is the least one above them if there is one, else it comes as near to them from below
    as the rows allow.

    ``spread`` is the standard deviation of the noise above which :meth:`start` takes the least solution, so that chains
    begin in different places; ``nonnegative`` says whether 0 is then their least component, or their mean.
    ``tolerance`` is the accuracy of the nearest point, before it is made exactly feasible, and ``limit`` the most
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
        self._last: tuple[Tensor, int, DifferenceRows, Tensor] | None = None

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

    def _known(self, y: Tensor) -> tuple[DifferenceRows, Tensor]:
        """The rows of y and their least solution above 0, remembered for the next step of the same walk."""
        if self._last is None or self._last[0] is not y or self._last[1] != y._version:
            rows = self.rule.rows(y)
            base, _ = rows.raised(torch.zeros(len(y), self.space.sites, dtype=torch.float64, device=y.device))
            self._last = y, y._version, rows, base
        return self._last[2:]

    def _from_below(
        self, rows: DifferenceRows, floor: Tensor, hint: Tensor, free: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
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

    def recorded(self, y: Tensor) -> bool:
        """Whether the search for the nearest point is to ask the device for nothing."""
        return y.is_cuda and self.limit <= MOST_RECORDED


@mode_by_search.register
def _(inverse: Intervals, target: Target[GaussianBelief]) -> Tensor:
    """The feasible point next to each example's mean, Q* at γ = 0."""
    rule, y = inverse.rule, target.answers
    most = rule.most_others if inverse.recorded(y) else None
    return nearest(rule.rows(y), target.weights.mean, tolerance=inverse.tolerance, limit=inverse.limit, most=most)


@own_kernel.register
def _(inverse: Intervals) -> Kernel:
    from .gibbs import SiteGibbs  # which needs the intervals

    return SiteGibbs(inverse.rule)


@default_inverse.register
def _(constraint: Differences, space: object) -> Intervals:
    return Intervals(constraint)


class RowEntries(NamedTuple):
    """The ragged list of (row j, other entry k) of all examples; positions are into the flattened ``[batch · n]``."""

    row: Tensor
    other: Tensor
    first: Tensor  # of the example
    example: Tensor
    value: Tensor  # w_jk, less the margin

    @classmethod
    def of(cls, rows: DifferenceRows) -> RowEntries:
        """Those of the rows' other entries."""
        example, row, other = torch.isfinite(rows.others).nonzero(as_tuple=True)
        first = example * rows.others.shape[-1]
        return cls(first + row, first + other, first, example, rows.others[example, row, other])

    @classmethod
    def room(cls, rows: DifferenceRows, most: int) -> RowEntries:
        """The same for examples with at most ``most`` of them, without asking the device for their number."""
        value, place = rows.others.flatten(1).topk(most, largest=False, sorted=False)
        n, example = rows.others.shape[-1], torch.arange(len(value), device=value.device)[:, None].expand_as(place)
        first = example * n
        parts = first + place // n, first + place % n, first, example, value.clamp(max=SLACK)
        return cls(*(part.flatten() for part in parts))


class DualSearch(NamedTuple):
    """Where the search stands: dual weights of the pairs, and of each example its choice, its momentum, its end."""

    weight: Tensor
    ahead: Tensor  # the weights, carried on by their momentum
    choice: Tensor  # [batch, n]
    momentum: Tensor  # [batch] iterations since the last restart
    point: Tensor  # [batch, n] of those that have ended, and the latest of the others
    ended: Tensor  # [batch]

    @classmethod
    def at(cls, rows: DifferenceRows, centre: Tensor, pairs: RowEntries) -> DualSearch:
        """At the outset: no constraint counts."""
        weight, momentum = torch.zeros_like(pairs.value), torch.zeros_like(centre[:, 0])
        return cls(weight, weight, rows.choice(centre), momentum, centre, torch.zeros_like(momentum, dtype=torch.bool))


def advance(centre: Tensor, marked: Tensor, tolerance: float, pairs: RowEntries, search: DualSearch) -> DualSearch:
    """Some accelerated steps on the dual weights."""
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
    return DualSearch(
        weight=weight,
        ahead=torch.where(anew.index_select(0, example), weight, ahead),
        choice=torch.where(gains, again, search.choice),
        momentum=torch.where(anew, 0.0, search.momentum + STEPS_PER_LOOK),
        point=torch.where(search.ended[:, None], search.point, z),
        ended=search.ended | (there & ~gains.any(-1)),
    )


def nearest(
    rows: DifferenceRows, centre: Tensor, *, tolerance: float = 1e-4, limit: int = 2_000, most: int | None = None
) -> Tensor:
    """The feasible point next to ``centre[batch, n]``, on the grid and exactly feasible; ``limit`` bounds the steps.

    With ``most``, the largest number of constraints of an example, nothing waits for the device. A point that the last
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
    rows, start = rows.select(rest), centre.double()[rest]
    z, _ = rows.raised(snap(project(rows, start, tolerance, limit)))
    result[rest] = z
    return result


def project(rows: DifferenceRows, centre: Tensor, tolerance: float, limit: int, most: int | None = None) -> Tensor:
    """The points nearest to ``centre[batch, n]`` that satisfy all rows to within ``tolerance``."""
    if tolerance >= COARSE_TOLERANCE:
        rows, centre = DifferenceRows(rows.marked.float(), rows.others.float()), centre.float()
    pairs = RowEntries.of(rows) if most is None else RowEntries.room(rows, most)
    search = DualSearch.at(rows, centre, pairs)
    for _ in range(max(1, limit // STEPS_PER_LOOK)):
        search = advance(centre, rows.marked, tolerance, pairs, search)
        if most is not None:
            continue
        if bool(search.ended.all()):
            break
        going = ~search.ended[pairs.example]
        if int(going.sum()) < SHARE_IN_USE * len(going):
            kept = going.nonzero().flatten()
            pairs = RowEntries(*(part[kept] for part in pairs))
            search = search._replace(weight=search.weight[kept], ahead=search.ahead[kept])
    return search.point.double()
