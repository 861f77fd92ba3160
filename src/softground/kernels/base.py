r"""The kernel seam: one transition that leaves Q* invariant.

``step(dice, z, target) -> (z, Info)``. A chain is its current state, the info holds diagnostics, and the kernel holds
the tuning parameters. A kernel works on a whole batch, one chain per example, and never uses labels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ..dice import Dice
from ..errors import LearnerError
from ..inverses.base import Fibre, Inverse, complete
from ..projections.base import Dropped, Projection, Walk
from ..registry import Registry
from ..spaces.categorical import CategoricalBelief
from ..target import Target

if TYPE_CHECKING:
    from ..task import Task


@dataclass(frozen=True, eq=False)
class Info:
    """Diagnostics of a step, per example.

    The expectation of ``marginals[batch, sites, K]`` under the chain is Q*'s marginals; for reals, ``[batch, sites]``
    are means. The loss uses them in place of z: the same expected gradient, less noise.
    """

    acceptance: Tensor  # share of proposals accepted; a draw from Q* counts as accepted
    moved: Tensor  # whether z changed
    unknown: Tensor  # whether a fibre was incomplete (a solver gave up, or the cap was reached): the chain stayed
    marginals: Tensor | None = None


class Kernel(ABC):
    """A Markov kernel on S_y, batched over examples.

    ``independent``: whether a step ignores the chain's state, so that no mixing is needed.
    """

    independent: ClassVar[bool] = False

    @property
    def walks(self) -> bool:
        """Whether a network learns from the chains' states, not from :meth:`marginals_of`."""
        return True

    def marginals_of(self, target: Target[Any]) -> Tensor:
        """Q*'s marginals without any chain, if the kernel knows them, as in :class:`Info`."""
        raise LearnerError(f"{self!r} has no marginals without chains. Call step instead.")

    def bound(self, task: Task) -> Kernel:
        """The kernel for a task: with the task's inverse, if its own is for another rule."""
        own = getattr(self, "inverse", None)
        rule = getattr(self, "rule", getattr(self, "constraint", getattr(own, "constraint", None)))
        if own is task.inverse or rule is None or rule is task.constraint:
            return self
        sites = getattr(getattr(self, "projection", None), "of", task.space.sites)
        space = getattr(getattr(self, "move", None), "space", task.space)
        if sites != task.space.sites or getattr(space, "sizes", None) != getattr(task.space, "sizes", None):
            raise LearnerError(
                f"The kernel {self!r} was made for another space than that of the task {task.name!r}, {task.space!r}. "
                "Make it for this task, or leave it out and let the learner choose."
            )
        parts = {"inverse": task.inverse, "rule": task.constraint, "constraint": task.constraint}
        return replace(self, **{name: part for name, part in parts.items() if hasattr(self, name)})  # type: ignore[type-var]

    @abstractmethod
    def step(self, dice: Dice, z: Tensor, target: Target[Any]) -> tuple[Tensor, Info]:
        """One transition of every chain, from feasible states ``z[batch, sites]``."""


KERNELS: Registry[Callable[[Walk, bool], Kernel]] = Registry("kernel")
"""Factories ``(walk, marginals) -> Kernel`` by name; ``marginals`` asks for steps that report them."""


@dataclass(frozen=True)
class Projected(Kernel):
    """A kernel that drops the sites of a ``projection`` and completes them by ``inverse``."""

    inverse: Inverse
    projection: Projection

    def two_fibres(self, z: Tensor, other: Tensor, y: Tensor, dropped: Dropped) -> tuple[Fibre, Fibre]:
        """F(Π(z)) and F(Π(other)) in one call of the inverse."""
        both = self.inverse.fibre(torch.cat([z, other]), torch.cat([y, y]), dropped.twice())
        return both.rows(slice(len(z))), both.rows(slice(len(z), None))


def info(before: Tensor, after: Tensor, accepted: Tensor, unknown: Tensor, marginals: Tensor | None = None) -> Info:
    """Diagnostics of one step."""
    return Info(accepted.float(), (before != after).any(-1), unknown, marginals)


def redrawn(before: Tensor, after: Tensor, marginals: Tensor | None) -> Info:
    """Diagnostics of a step that draws from Q* itself: everything is accepted."""
    accepted, unknown = (each.expand(len(after)) for each in _constants(after.device))
    return info(before, after, accepted, unknown, marginals)


@cache
def _constants(device: torch.device) -> tuple[Tensor, Tensor]:
    """1 and false, made once, so that a GPU's recordings need not fill rows with them."""
    return torch.ones((), device=device), torch.zeros((), dtype=torch.bool, device=device)


def metropolis(
    dice: Dice, z: Tensor, proposal: Tensor, log_ratio: Tensor, possible: Tensor, unknown: Tensor
) -> tuple[Tensor, Info]:
    """Accept possible proposals with probability min(1, exp(log_ratio)); the other chains stay."""
    accepted = dice.accept(log_ratio.masked_fill(~possible, -torch.inf))
    after = torch.where(accepted[:, None], proposal, z)
    return after, info(z, after, accepted, unknown)


def fibre_weights(target: Target[CategoricalBelief], dropped: Dropped, fibre: Fibre) -> Tensor:
    r"""log of :math:`\prod_{j \in \text{dropped}} P_j(v_j|x)^{1/\gamma}`, −∞ outside F(u): ``[batch, options]``."""
    scores = target.weights.scores
    rows = scores.gather(1, dropped.sites[:, :, None].expand(-1, -1, scores.shape[2]))
    return rows.gather(2, fibre.values.transpose(1, 2)).sum(1).masked_fill(~fibre.mask, -torch.inf)


def possible(target: Target[Any], dropped: Dropped, fibre: Fibre) -> Fibre:
    """The completions that agree with the known symbols. Reals have no known symbols."""
    if not isinstance(target.weights, CategoricalBelief):
        return fibre
    return replace(fibre, mask=fibre_weights(target, dropped, fibre) > -torch.inf)


def pick(values: Tensor, option: Tensor) -> Tensor:
    """The chosen completion of each example, from ``values[batch, options, dropped]``: ``[batch, dropped]``."""
    return values.gather(1, option[:, None, None].expand(-1, 1, values.shape[2])).squeeze(1)


def conditional_marginals(z: Tensor, dropped: Dropped, values: Tensor, weights: Tensor, width: int) -> Tensor:
    """Conditional marginals given the kept sites: ``[batch, sites, K]``.

    Kept sites are one-hot at z; dropped sites carry the normalised ``weights[batch, options]`` of the fibre.
    """
    return redraw_marginals(one_hot(z, width).to(weights.dtype), dropped, values, weights)


def redraw_marginals(marginals: Tensor, dropped: Dropped, values: Tensor, weights: Tensor) -> Tensor:
    """Replace ``marginals[batch, sites, K]`` at dropped sites by those of the completions."""
    at = dropped.sites[:, :, None].expand(-1, -1, marginals.shape[2])
    shares = weights.new_zeros(at.shape).scatter_add(2, values.mT, weights[:, None].expand_as(values.mT))
    return marginals.scatter(1, at, shares)


def redraw(
    dice: Dice,
    target: Target[CategoricalBelief],
    z: Tensor,
    proposal: Tensor,
    dropped: Dropped,
    fibres: tuple[Fibre, Fibre],
    prior: Tensor | float,
    with_marginals: bool,
) -> tuple[Tensor, Info]:
    """Accept u′ with ratio exp(prior) · W(u′)/W(u), then draw v from its conditional distribution on the fibre.

    The second half of the collapsed and guided kernels, which differ only in how u′ is proposed. A chain whose own
    fibre is incomplete stays: its conditional distribution is unknown.
    """
    here, there = (fibre_weights(target, dropped, fibre) for fibre in fibres)
    known = fibres[0].complete & fibres[1].complete
    possible = known & (fibres[1].count > 0)
    log_ratio = prior + there.logsumexp(-1) - here.logsumexp(-1)
    accepted = dice.accept(log_ratio.masked_fill(~possible, -torch.inf))
    values = torch.where(accepted[:, None, None], fibres[1].values, fibres[0].values)
    held = ~accepted & ~fibres[0].complete
    chosen = torch.where(accepted[:, None], there, here).masked_fill(held[:, None], 0.0)
    drawn = complete(torch.where(accepted[:, None], proposal, z), dropped, pick(values, dice.categorical(chosen)))
    after = torch.where(held[:, None], z, drawn)
    marginals = None
    if with_marginals:
        marginals = conditional_marginals(after, dropped, values, chosen.softmax(-1), target.weights.scores.shape[2])
        marginals = torch.where(held[:, None, None], one_hot(z, marginals.shape[2]), marginals)
    return after, info(z, after, accepted, ~known, marginals)
