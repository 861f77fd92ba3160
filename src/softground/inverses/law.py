r"""Q* on S_y: draws, marginals, total mass, mode and entropy.

.. math:: Q^*(z) = w(z) \Big/ \sum_{z' \in S_y} w(z'), \qquad Q^*_i(s) = \sum_{z:\, z_i = s} Q^*(z),
          \qquad w(z) = P(z|x)^{1/\gamma} .

An inverse that knows S_y returns its law. Lists come in three shapes. *Ragged* rows hold each example's solutions one
after the other: the least work, but the rows' lengths must be asked of the device first. *Padded* rows are as long as
the longest S_y: more work, no device-to-host synchronisation. A list *shared* by all examples needs no rows: log w and
the marginals are two matrix products with its one-hot codes. A scan's law (:mod:`softground.inverses.scanned`) lists
nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import methodcaller

import torch
from torch import Tensor

from ..constraints.scan.messages import LOG_ZERO
from ..dice import Dice
from ..errors import InfeasibleAnswer, InverseError
from ..spaces.categorical import CategoricalBelief
from .blocks import blocks_of, log_weights, site_marginals


class Law(ABC):
    """Q* of a batch. Where an S_y is empty, all but :meth:`log_mass` raise InfeasibleAnswer with the batch's rows."""

    @abstractmethod
    def draw(self, dice: Dice) -> Tensor:
        """One independent draw per example: ``[batch, sites]``."""

    @abstractmethod
    def marginals(self) -> Tensor:
        """Q*'s marginals, the gradient of :meth:`log_mass`, differentiable as well: ``[batch, sites, K]``."""

    @abstractmethod
    def log_mass(self) -> Tensor:
        """log Σ w(z) over S_y, differentiable in the weights; −∞ for an empty S_y: ``[batch]``."""

    @abstractmethod
    def mode(self) -> Tensor:
        """The likeliest z ∈ S_y of each example; ties go to the smallest state: ``[batch, sites]``."""

    def draw_with_marginals(self, dice: Dice) -> tuple[Tensor, Tensor]:
        """:meth:`draw` and :meth:`marginals`, which may share their work."""
        return self.draw(dice), self.marginals()

    def entropy(self) -> Tensor:
        r"""H[Q*] in nats, ``[batch]``, differentiable in the weights.

        log w is a sum over sites, so that the marginals tell all that is needed, and S_y need not be listed:
        :math:`H = \log \sum_{z \in S_y} w(z) - \sum_i \sum_s Q^*_i(s) \log w_i(s)`.
        """
        mass, marginals, weights = self.log_mass(), self._taped(), getattr(self, "weights", None)
        assert isinstance(weights, CategoricalBelief)  # a law that is put together from others adds up theirs
        return mass - weights.marginal_log_prob(marginals).to(mass.dtype)

    def _taped(self) -> Tensor:
        """The marginals, where a gradient that is wanted would pass through them."""
        marginals, weights = self.marginals(), getattr(self, "weights", None)
        if weights is not None and not isinstance(weights, CategoricalBelief):
            raise InverseError(f"{type(self).__name__} is no law of symbols; entropies are those of symbols.")
        wanted = weights is not None and weights.scores.requires_grad and torch.is_grad_enabled()
        if wanted and not marginals.requires_grad:
            raise InverseError(
                f"{type(self).__name__} knows entropies, but not their gradients. Use a table, a listing or a scan to "
                "train by them."
            )
        return marginals


def refuse_empty(empty: Tensor, first: int = 0) -> None:
    """Raise where some S_y is empty; ``first`` is the number of the first row."""
    if bool(empty.any()):
        rows = tuple(first + row for row in empty.nonzero().flatten().tolist())
        raise InfeasibleAnswer(f"S_y is empty for row(s) {list(rows)} of this batch: correct their answers.", rows)


@dataclass(frozen=True, eq=False)
class Solutions:
    """All of S_y for a batch of answers, as ragged rows of state indices.

    Example b owns ``index[offsets[b] : offsets[b + 1]]``; ``owner`` repeats b over its row.
    """

    index: Tensor
    owner: Tensor
    offsets: Tensor

    @classmethod
    def of(cls, rows: Sequence[Tensor], device: torch.device) -> Solutions:
        """One tensor of state indices per example."""
        count = torch.tensor([len(row) for row in rows], dtype=torch.long, device=device)
        flat = torch.cat([torch.zeros(0, dtype=torch.long, device=device), *(row.to(device) for row in rows)])
        return cls(flat, *ragged(count))

    @property
    def count(self) -> Tensor:
        """|S_y| per example."""
        return self.offsets.diff()


def ragged(count: Tensor) -> tuple[Tensor, Tensor]:
    """The owner of each entry, and where each row begins, for rows with ``count`` entries."""
    owner = torch.arange(len(count), device=count.device).repeat_interleave(count)
    return owner, torch.nn.functional.pad(count.cumsum(0), (1, 0))


class Ragged(Law):
    """Q* on ragged rows of state indices; ``first`` is the number of the first row, for messages."""

    def __init__(self, solutions: Solutions, weights: CategoricalBelief, first: int = 0) -> None:
        self.solutions, self.weights, self.first = solutions, weights, first
        self.blocks = blocks_of(weights)
        self.places = [block.position(solutions.owner, solutions.index) for block in self.blocks]

    def _peaked(self) -> tuple[Tensor, Tensor]:
        """log w of every solution, and the highest of each example; made when asked for, so that memory is reused."""
        log_weight, owner = log_weights(self.blocks, self.places), self.solutions.owner
        peak = torch.full((len(self.weights),), -torch.inf, dtype=log_weight.dtype, device=owner.device)
        return log_weight, peak.scatter_reduce(0, owner, log_weight.detach(), "amax")

    @cached_property
    def probability(self) -> Tensor:
        """Q* of every solution."""
        refuse_empty(self.solutions.count == 0, self.first)
        (log_weight, peak), owner = self._peaked(), self.solutions.owner
        weight = (log_weight - peak[owner]).exp()
        return weight / torch.zeros_like(peak).index_add(0, owner, weight)[owner]

    def draw(self, dice: Dice) -> Tensor:
        chosen = dice.segment(self.probability, self.solutions.offsets)
        return self.weights.space.states(self.solutions.index[chosen])

    def marginals(self) -> Tensor:
        return site_marginals(self.weights, self.blocks, self.places, self.probability)

    def log_mass(self) -> Tensor:
        (log_weight, peak), owner = self._peaked(), self.solutions.owner
        peak = peak.clamp(min=torch.finfo(peak.dtype).min)  # −∞ where known symbols leave nothing of S_y
        weight = (log_weight - peak[owner]).exp()
        return peak + torch.zeros_like(peak).index_add(0, owner, weight).log()

    def mode(self) -> Tensor:
        refuse_empty(self.solutions.count == 0, self.first)
        (log_weight, peak), owner, last = self._peaked(), self.solutions.owner, len(self.solutions.index)
        place = torch.arange(last, device=owner.device).masked_fill(log_weight < peak[owner], last)
        best = torch.full_like(self.solutions.count, last).scatter_reduce(0, owner, place, "amin")
        return self.weights.space.states(self.solutions.index[best])


class Parts(Law):
    """The law of a large batch, part after part: ``parts()`` makes each one after the one before was freed."""

    def __init__(self, parts: Callable[[], Iterator[Law]]) -> None:
        self.parts = parts  # asked through map(), which keeps no part alive while the next is made

    def draw(self, dice: Dice) -> Tensor:
        return torch.cat([*map(methodcaller("draw", dice), self.parts())])

    def marginals(self) -> Tensor:
        return torch.cat([*map(methodcaller("marginals"), self.parts())])

    def log_mass(self) -> Tensor:
        return torch.cat([*map(methodcaller("log_mass"), self.parts())])

    def mode(self) -> Tensor:
        return torch.cat([*map(methodcaller("mode"), self.parts())])

    def entropy(self) -> Tensor:
        return torch.cat([*map(methodcaller("entropy"), self.parts())])

    def draw_with_marginals(self, dice: Dice) -> tuple[Tensor, Tensor]:
        drawn, marginals = zip(*map(methodcaller("draw_with_marginals", dice), self.parts()), strict=True)
        return torch.cat(drawn), torch.cat(marginals)


class Rows(Law):
    """Q* on rows of one length, of log-weights ``[batch, options]``; no row is empty."""

    log_weight: Tensor

    @abstractmethod
    def states(self, option: Tensor) -> Tensor:
        """The states of the chosen options."""

    def draw(self, dice: Dice) -> Tensor:
        return self.states(dice.categorical(self.log_weight))

    def log_mass(self) -> Tensor:
        total = self.log_weight.clamp(min=LOG_ZERO).logsumexp(-1)  # a row of −∞ has no gradient, not even one of 0
        return total.masked_fill(total < LOG_ZERO / 2, -torch.inf)

    def mode(self) -> Tensor:
        return self.states(self.log_weight.argmax(-1))


class Padded(Rows):
    """Q* on rows of state indices ``[batch, longest]``, of which ``mask`` counts."""

    def __init__(self, index: Tensor, mask: Tensor, weights: CategoricalBelief) -> None:
        self.index, self.weights, self.blocks = index, weights, blocks_of(weights)
        self.places = [block.codes(index) for block in self.blocks]
        self.log_weight = log_weights(self.blocks, self.places).masked_fill(~mask, -torch.inf)

    def states(self, option: Tensor) -> Tensor:
        return self.weights.space.states(self.index.gather(1, option[:, None]).squeeze(1))

    def marginals(self) -> Tensor:
        return site_marginals(self.weights, self.blocks, self.places, self.log_weight.softmax(-1))


class Shared(Rows):
    """Q* on one list of states ``[N, sites]`` for all examples, with their one-hot codes ``[N, sites · K]``."""

    def __init__(self, listed: Tensor, codes: Tensor, weights: CategoricalBelief) -> None:
        self.listed, self.weights, self.shape = listed, weights, weights.scores.shape
        # A code that a state does not have multiplies its score by 0, which must not be −∞.
        scores = weights.scores.clamp(min=LOG_ZERO)
        self.codes = codes.to(scores.dtype)
        log_weight = scores.flatten(1) @ self.codes.T
        self.log_weight = log_weight.masked_fill(log_weight < LOG_ZERO / 2, -torch.inf)

    def states(self, option: Tensor) -> Tensor:
        return self.listed[option]

    def marginals(self) -> Tensor:
        return (self.log_weight.softmax(-1) @ self.codes).view(self.shape)
