r"""The paper's walk on S_y as matrices, for any number of networks at once.

At γ = ∞ every proposal is accepted, so the transition matrix of the code that runs is then the matrix A of the
proposals alone. At any other temperature, with weights :math:`w = P_\theta(z|x)^{1/\gamma}`,

.. math:: M(z, z') = A(z, z') \min\Big(1, \frac{w(z')}{w(z)}\Big) \quad (z' \neq z), \qquad
          \pi(z) \propto \frac{w(z)}{|F(\Pi(z))|} \neq Q^*(z) \propto w(z),

π on the part of S_y that the walk can reach: the inverse proposes each of the |F| completions of u' with probability
1/|F(u')|, and the paper's ratio does not divide by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch.nn.functional import one_hot

from softground.inverses import Table, solutions
from softground.kernels import Metropolis
from softground.projections import ChangeOne, Drop, Dropped
from softground.target import Target
from tools.outcomes import transition_matrix


@dataclass(frozen=True, eq=False)
class Walk:
    """The walk that drops ``sites`` of a tabulated rule, for one encoded answer ``y[1]``."""

    table: Table
    sites: tuple[int, ...]
    y: Tensor

    @cached_property
    def states(self) -> Tensor:
        """All of S_y: ``[n, sites]``."""
        return self.table.space.states(solutions(self.table, self.y).index)

    @cached_property
    def proposals(self) -> Tensor:
        """A: ``[n, n]``, with what is proposed in vain on the diagonal."""
        space = self.table.space
        kernel = Metropolis(self.table, Drop(space, self.sites), ChangeOne(space))

        def anywhere(rows: int) -> Target:  # type: ignore[type-arg]
            return Target.at(space.uniform(rows, self.y.device), self.y.expand(rows), math.inf)

        return transition_matrix(kernel, self.states, anywhere, space)

    @cached_property
    def completions(self) -> Tensor:
        """The size of F(Π(z)) for every state: ``[n]``."""
        n = len(self.states)
        dropped = Dropped(torch.tensor(self.sites).expand(n, -1))
        return self.table.fibre(self.states, self.y.expand(n), dropped).count.double()

    @cached_property
    def parts(self) -> Tensor:
        """Which part of S_y each state is in; the walk never leaves its part: ``[n]``."""
        return torch.from_numpy(connected_components(self.proposals.numpy() > 0)[1]).long()

    def matrix(self, log_weight: Tensor) -> Tensor:
        """M for log w ``[…, n]`` of every state: ``[…, n, n]``."""
        accepted = self.proposals * (log_weight[..., None, :] - log_weight[..., :, None]).clamp(max=0).exp()
        stay = 1 - accepted.sum(-1) + accepted.diagonal(dim1=-2, dim2=-1)
        return accepted - accepted.diagonal(dim1=-2, dim2=-1).diag_embed() + stay.diag_embed()

    def after(self, log_weight: Tensor, place: Tensor, steps: int) -> Tensor:
        """The law after ``steps`` steps from the state with index ``place[…]``: ``[…, n]``."""
        law, matrix = one_hot(place, len(self.states)).double()[..., None, :], self.matrix(log_weight)
        for _ in range(steps):
            law = law @ matrix
        return law.squeeze(-2)

    def settled(self, log_weight: Tensor, place: Tensor) -> Tensor:
        """π, the law after any number of steps from ``place[…]``: ``[…, n]``."""
        reached = self.parts == self.parts[place][..., None]
        return (log_weight - self.completions.log()).masked_fill(~reached, -math.inf).softmax(-1)


def distance(law: Tensor, other: Tensor) -> Tensor:
    """Total variation, half the sum of absolute differences."""
    return (law - other).abs().sum(-1) / 2


__all__ = ["Walk", "distance"]
