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
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..constraints.base import Constraint
from ..errors import ConstraintError
from .gaussian import GRID, Gaussian, snap

# Rounds after which a rise is given up. Gains are sums of weights, so that a few rounds per component are usual.
MOST_ROUNDS = 2_000
ROUNDS_PER_LOOK = 4  # on a GPU, where looking whether a rise has ended means to wait for the device


@dataclass(frozen=True, eq=False)
class Rows:
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

    def select(self, index: Tensor) -> Rows:
        """Some of the batch's examples."""
        return Rows(self.marked[index], self.others[index])

    def seen_from(self, z: Tensor, free: Tensor, sites: Tensor) -> Rows:
        """What the rows ask of the components at ``sites[batch, d]`` while those that are not ``free`` stay as in z.

        The others of each row come down to their least: to one component more, the last, which is fixed at 0.
        """
        fixed = z.masked_fill(free, math.inf)
        index = sites[:, None].expand(-1, self.marked.shape[1], -1)
        parts = ((part.gather(2, index), (part + fixed[:, None]).amin(-1)) for part in (self.marked, self.others))
        return Rows(*(torch.cat([own, rest[..., None]], -1) for own, rest in parts))

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
            raise ConstraintError(f"margin={margin} was given; expected a finite number, 0 or more.")
        if not 0 <= (margin if lowest is None else lowest) <= margin:
            raise ConstraintError(f"lowest={lowest} was given; expected a margin from 0 to {margin:g}.")
        self.space = space
        self.margin, self.lowest = (round(m / GRID) * GRID for m in (margin, margin if lowest is None else lowest))
        self.most_others = 1  # entries without a mark, of the answer seen so far that has the most

    def encode(self, answers: Sequence[Any]) -> Tensor:
        """Pairs (weights, marks) of ``n × n`` tables as one tensor ``[len(answers), 2, n, n]``.

        There marks are 1, and everything that is none holds minus the answer's margin.
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

    def rows(self, y: Tensor) -> Rows:
        """Encoded answers as :class:`Rows`. A row without marks asks for nothing."""
        weights, marks = y[:, 0].double(), y[:, 1] > 0
        others = (weights > 0) & ~marks & marks.any(-1, keepdim=True)
        less = weights + y[:, 1].double()
        return Rows(weights.masked_fill(~marks, math.inf), less.masked_fill(~others, math.inf))

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        return self.rows(y).feasible(z.double())

    def admissible(self, z: Tensor) -> Tensor:
        """Any z is right for some answer."""
        return torch.ones(len(z), dtype=torch.bool, device=z.device)

    def answer(self, y: Tensor) -> dict[int, list[int]]:
        """The marked entries of each row that has any."""
        return {j: row.nonzero().flatten().tolist() for j, row in enumerate(y[1] > 0) if bool(row.any())}
