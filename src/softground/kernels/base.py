r"""The kernel seam: one transition that leaves Q* invariant.

``step(dice, z, target) -> (z, Info)``. A chain is where it stands, nothing more; the info holds diagnostics; tuning
parameters live in the kernel itself. A kernel works on a whole batch, one chain per example, and never looks at labels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..dice import Dice
from ..inverses.base import Fibre, Inverse
from ..projections.base import Dropped, Projection, Walk
from ..registry import Registry
from ..spaces.categorical import CategoricalBelief
from ..target import Target


@dataclass(frozen=True, eq=False)
class Info:
    """What a step did, per example.

    ``marginals`` are distributions whose expectation under the chain is Q*'s marginals, ``[batch, sites, K]``; for
    reals means, ``[batch, sites]``. The loss then uses them in place of z: the same expected gradient, less noise.
    """

    acceptance: Tensor  # share of proposals accepted; a draw from the exact law counts as accepted
    moved: Tensor  # whether z changed
    unknown: (
        Tensor  # whether a fibre was incomplete (a solver gave up, or the cap was reached), so that the chain stayed
    )
    marginals: Tensor | None = None


class Kernel(ABC):
    """A Markov kernel on S_y, batched over examples.

    ``independent`` says whether a step does not depend on the chain's state, so that there is nothing to mix.
    """

    independent: ClassVar[bool] = False

    @abstractmethod
    def step(self, dice: Dice, z: Tensor, target: Target[Any]) -> tuple[Tensor, Info]:
        """One transition of every chain, from feasible states ``z[batch, sites]``."""

    def static(self, target: Target[Any]) -> bool:
        """Whether a step does no device-to-host synchronisation, so that a GPU can record it."""
        return False


# Factories ``(walk, marginals) -> Kernel`` by name; ``marginals`` says whether steps report them, where they can.
KERNELS: Registry[Callable[[Walk, bool], Kernel]] = Registry("kernel")


@dataclass(frozen=True)
class Projected(Kernel):
    """A kernel that drops some sites, as ``projection`` says, and completes the others by ``inverse``."""

    inverse: Inverse
    projection: Projection

    def static(self, target: Target[Any]) -> bool:
        return self.inverse.static

    def two_fibres(self, z: Tensor, other: Tensor, y: Tensor, dropped: Dropped) -> tuple[Fibre, Fibre]:
        """F(Π(z)) and F(Π(other)) in one call of the inverse."""
        both = self.inverse.fibre(torch.cat([z, other]), torch.cat([y, y]), dropped.twice())
        return both.rows(slice(len(z))), both.rows(slice(len(z), None))


def info(before: Tensor, after: Tensor, accepted: Tensor, unknown: Tensor, marginals: Tensor | None = None) -> Info:
    """Diagnostics of one step."""
    return Info(accepted.float(), (before != after).any(-1), unknown, marginals)


def redrawn(before: Tensor, after: Tensor, marginals: Tensor | None) -> Info:
    """Diagnostics of a step that draws from a law itself: nothing is rejected, nothing unknown."""
    true = torch.ones(len(after), dtype=torch.bool, device=after.device)
    return info(before, after, true, ~true, marginals)


def fibre_weights(target: Target[CategoricalBelief], dropped: Dropped, fibre: Fibre) -> Tensor:
    r"""log of :math:`\prod_{j \in \text{dropped}} P_j(v_j|x)^{1/\gamma}`, −∞ outside F(u): ``[batch, options]``."""
    scores = target.weights.scores
    rows = scores.gather(1, dropped.sites[:, :, None].expand(-1, -1, scores.shape[2]))
    return rows.gather(2, fibre.values.transpose(1, 2)).sum(1).masked_fill(~fibre.mask, -torch.inf)


def pick(values: Tensor, option: Tensor) -> Tensor:
    """The chosen one of each example's completions ``values[batch, options, dropped]``: ``[batch, dropped]``."""
    return values.gather(1, option[:, None, None].expand(-1, 1, values.shape[2])).squeeze(1)
