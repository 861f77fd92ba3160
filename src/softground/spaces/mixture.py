r"""P(z|x) as a mixture of K products.

.. math:: P(z|x) = \sum_{k=1}^{K} w_k(x) \prod_{i=1}^{n} P_{k,i}(z_i|x)

One product cannot say 'both digits are even, or both are odd': it is certain of every site or it spreads over sites
that do not go together. A mixture can, so that it need not decide between readings which fit the answer equally well.
Everything that is a sum over states stays exact, at K times the cost.

*Temperature.* :math:`P^{1/\gamma}` of a mixture is no mixture of products, so that only γ = 1 (itself) and γ = ∞ (the
uniform law) are exact, and all others are refused.

*Members* of an ensemble are components with equal weights that were trained each on its own
(:class:`~softground.networks.Ensemble`): the learner takes them one by one, everything else reads their mixture.

Reference: E. van Krieken et al., On the independence assumption in neurosymbolic learning, ICML 2024.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..dice import Dice
from ..errors import SpaceError
from .belief import CategoricalBelief

if TYPE_CHECKING:
    from .categorical import Categorical


@dataclass(frozen=True, eq=False)
class MixtureBelief:
    """Log-weights ``log_weights[b, k]`` and the scores ``each[b, k, i, code]`` of the products.

    ``every`` is that of :class:`CategoricalBelief`; ``apart`` says that the components are members of an ensemble.
    """

    space: Categorical
    log_weights: Tensor
    each: Tensor
    every: Tensor | None = None
    apart: bool = False

    def __len__(self) -> int:
        return len(self.each)

    @property
    def count(self) -> int:
        """K, the number of components."""
        return self.each.shape[1]

    @property
    def scores(self) -> Tensor:
        """Only a product has one score for each site and symbol."""
        raise SpaceError(
            f"P(z|x) is a mixture of {self.count} products, which has no scores of single sites. Use the exact kernel "
            "or the semantic loss, with a table, a listing or a scan; or one product."
        )

    @property
    def products(self) -> CategoricalBelief:
        """The components as one batch, ``batch · K`` rows, those of an example next to each other."""
        return CategoricalBelief(self.space, self.each, self.every).changed(lambda scores: scores.flatten(0, 1))

    def component(self, k: int | Tensor) -> CategoricalBelief:
        """The k-th product, or the one of each example that ``k[batch]`` names."""
        return CategoricalBelief(self.space, self.each, self.every).changed(lambda scores: pick(scores, k))

    def over_products(self, z: Tensor) -> Tensor:
        """log w_k + log P_k(z|x) of one symbol vector per example: ``[batch, K]``."""
        return self.log_weights + self.products.log_prob(z.repeat_interleave(self.count, 0)).view_as(self.log_weights)

    def log_prob(self, z: Tensor) -> Tensor:
        return self.over_products(z).logsumexp(-1)

    def mode(self) -> Tensor:
        """The likeliest of K + 1 readings: the components' modes, and the likeliest symbol of every site.

        For K = 1 that is the mode. Otherwise a likelier state can exist: finding it is a search over all of them.
        """
        readings = [self.component(k).mode() for k in range(self.count)] + [self.marginals().argmax(-1)]
        best = torch.stack([self.log_prob(z) for z in readings], 1).argmax(1)
        return pick(torch.stack(readings, 1), best)

    def other_mode(self) -> Tensor:
        """What the heaviest component would have read with the other kind of ``readings``, for a mixed space."""
        return self.component(self.log_weights.argmax(-1)).other_mode()

    def sample(self, dice: Dice) -> Tensor:
        return self.component(dice.categorical(self.log_weights.detach())).sample(dice)

    def detach(self) -> MixtureBelief:
        every = None if self.every is None else self.every.detach()
        return replace(self, log_weights=self.log_weights.detach(), each=self.each.detach(), every=every)

    def rows(self, index: Tensor | slice) -> MixtureBelief:
        every = None if self.every is None else self.every[index]
        return replace(self, log_weights=self.log_weights[index], each=self.each[index], every=every)

    def tempered(self, gamma: float) -> MixtureBelief:
        """The weights at γ = 1 or ∞; other temperatures are refused."""
        if gamma == 1:
            return replace(self, every=None)
        if not math.isinf(gamma) or gamma < 0:
            raise SpaceError(
                f"γ = {gamma} was given for a mixture of {self.count} products; only γ = 1 (and ∞, the uniform law) is "
                "exact there. Keep γ at 1: --schedule constant --gamma 1, or Constant(1.0)."
            )
        uniform = self.products.tempered(gamma).scores.view_as(self.each)
        return MixtureBelief(self.space, torch.full_like(self.log_weights, -math.log(self.count)), uniform)

    def given(self, known: Tensor) -> MixtureBelief:
        """P(z|x, z_i = k_i): each component given what is known, weighed by how probable it found that."""
        repeated = known.repeat_interleave(self.count, 0)
        certain = self.products.given(repeated)
        weights = self.log_weights + self.products.log_known(repeated).view_as(self.log_weights)
        every = None if certain.every is None or self.every is None else certain.every.view_as(self.every)
        return replace(self, log_weights=weights.log_softmax(-1), each=certain.scores.view_as(self.each), every=every)

    def weighted(self, weight: Tensor) -> MixtureBelief:
        """The same belief, with each example's gradient multiplied by ``weight[batch]``."""
        scaled = self.products.weighted(weight.repeat_interleave(self.count))
        gates = CategoricalBelief(self.space, self.log_weights[..., None]).weighted(weight).scores.squeeze(-1)
        every = None if scaled.every is None or self.every is None else scaled.every.view_as(self.every)
        return replace(self, log_weights=gates, each=scaled.scores.view_as(self.each), every=every)

    def log_known(self, known: Tensor) -> Tensor:
        """The log-probability of the known symbols (see :meth:`given`), ``[batch]``."""
        found = self.products.log_known(known.repeat_interleave(self.count, 0))
        return (self.log_weights + found.view_as(self.log_weights)).logsumexp(-1)

    def marginals(self) -> Tensor:
        """P_i(s|x), ``[batch, n, codes]``."""
        each = self.products.marginals()
        return (self.log_weights.exp()[..., None, None] * each.view(len(self), self.count, *each.shape[1:])).sum(1)

    def marginal_log_prob(self, marginals: Tensor) -> Tensor:
        r""":math:`\sum_k q(k) \log w_k + \sum_{k,i,s} q(k, z_i = s) \log P_{k,i}(s|x)`: ``[batch]``.

        For the law of a mixture, whose marginals are those of components and symbols together, ``[batch, K, n, codes]``
        (:class:`~softground.inverses.mixture.MixtureLaw`). At Q* its gradient is that of the log-mass (Fisher's
        identity, the M-step of EM).
        """
        shares = marginals[:, :, 0].sum(-1)
        inner = self.products.marginal_log_prob(marginals.flatten(0, 1)).view_as(shares)
        return (shares * self.log_weights.masked_fill(shares == 0, 0.0) + inner).sum(-1)


def pick(values: Tensor, k: int | Tensor) -> Tensor:
    """What component ``k``, or that of each example, has of ``values[batch, K, …]``."""
    return values[:, k] if isinstance(k, int) else values[torch.arange(len(values), device=values.device), k]
