"""P(z|x) of categorical symbols: a product over sites, at any temperature, given what is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..dice import Dice
from ..errors import SpaceError

if TYPE_CHECKING:
    from .categorical import Categorical


@dataclass(frozen=True, eq=False)
class CategoricalBelief:
    """Site-wise log-probabilities, or tempered log-weights, ``scores[b, i, code]``; −∞ outside a site's alphabet.

    ``every[b, i, code]`` are the scores of all symbols, where sites have different ones: log-probabilities for
    ``readings="all"``, else the network's output, which tells only what it would have read.
    """

    space: Categorical
    scores: Tensor
    every: Tensor | None = None
    finite: bool = False  # whether all scores are known to be finite
    pinned: bool = False  # whether symbols are known, which may contradict an answer
    gamma: float | None = None  # the temperature of the weights, where it is known

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def read(self) -> Tensor:
        """The scores of all that can be read, ``[batch, n, codes]``."""
        return self.scores if self.every is None or self.space.readings == "grammatical" else self.every

    def log_prob(self, z: Tensor) -> Tensor:
        return self.site_scores(z).sum(-1)

    def site_scores(self, z: Tensor) -> Tensor:
        """The score of each site's symbol, ``[batch, n]``."""
        return self.read.gather(2, z[..., None]).squeeze(2)

    def mode(self) -> Tensor:
        return (self.scores if self.every is None else self.read).argmax(-1)

    def other_mode(self) -> Tensor:
        """The mode that the other kind of ``readings`` would give, for a mixed space."""
        assert self.every is not None
        return (self.every if self.space.readings == "grammatical" else self.scores).argmax(-1)

    def sample(self, dice: Dice) -> Tensor:
        return dice.categorical(self.read.detach().flatten(0, 1)).view(self.scores.shape[:2])

    def changed(self, change: Callable[[Tensor], Tensor], **facts: Any) -> CategoricalBelief:
        """The belief whose scores, those of all symbols too, are ``change`` of these; other ``facts`` are new too."""
        every = None if self.every is None else change(self.every)
        return replace(self, scores=change(self.scores), every=every, finite=False, **facts)

    def detach(self) -> CategoricalBelief:
        every = None if self.every is None else self.every.detach()
        return replace(self, scores=self.scores.detach(), every=every)

    def rows(self, index: Tensor | slice) -> CategoricalBelief:
        return self.changed(lambda scores: scores[index])

    def tempered(self, gamma: float) -> CategoricalBelief:
        """The weights of the space's states; what else can be read has none."""
        if not gamma > 0:
            raise SpaceError(f"γ = {gamma} was given; a temperature is positive (∞ samples uniformly).")
        if math.isinf(gamma):
            scores = torch.zeros_like(self.scores).masked_fill(torch.isinf(self.scores), -math.inf)
        else:
            scores = self.scores if gamma == 1 else self.scores / gamma
        return CategoricalBelief(self.space, scores, pinned=self.pinned, gamma=gamma)

    def given(self, known: Tensor, *, fits: bool = False) -> CategoricalBelief:
        """P(z|x, z_i = k_i) for codes ``known[batch, n]``, −1 where a site is unknown: certain at known sites.

        Sites are independent under P, so the others stay what they are. As the scores of all other codes are −∞, no
        law, kernel or prediction can leave what is known, at any temperature. ``fits`` says that what is known is seen
        to agree with the answers: laws then need not look.
        """

        def certain(scores: Tensor) -> Tensor:
            other = torch.arange(scores.shape[2], device=known.device) != known[..., None]
            return torch.where((known < 0)[..., None], scores, torch.zeros_like(scores).masked_fill(other, -math.inf))

        return self.changed(certain, pinned=not fits)

    def log_known(self, known: Tensor) -> Tensor:
        r""":math:`\sum_i \log P_i(k_i|x)` over the known sites (see :meth:`given`), ``[batch]``."""
        return self.site_scores(known.clamp(min=0)).masked_fill(known < 0, 0.0).sum(-1)

    def marginals(self) -> Tensor:
        """P_i(s|x), ``[batch, n, codes]``; 0 for codes beyond a site's alphabet that cannot be read."""
        return self.read.softmax(-1)

    def expected(self, taught: Tensor) -> Tensor:
        r""":math:`\sum_s q_i(s) \log P_i(s|x)` at every site ``[batch, n]``.

        ``taught`` holds site-wise distributions q ``[batch, n, K]``, or one symbol vector per example ``[batch, n]``.
        """
        if not taught.is_floating_point():
            return self.site_scores(taught)
        scores = self.scores if self.finite else self.scores.masked_fill(taught == 0, 0.0)  # 0 · log 0 = 0
        return (taught * scores).sum(2)

    def marginal_log_prob(self, marginals: Tensor) -> Tensor:
        r""":math:`\sum_i \sum_s q_i(s) \log P_i(s|x)` for site-wise distributions q ``[batch, n, K]``: ``[batch]``."""
        return self.expected(marginals).sum(1)
