r"""Let the network propose all of u several times at once, and keep one of the candidates. Exact for Q*.

As in :mod:`.guided` every kept site comes afresh from the network, but M times: :math:`u_1, …, u_M \sim \prod
P(u_i|x)^{1/\gamma}`, beside the chain's own :math:`u_0`. Since a proposal's density cancels w(u), one is drawn by

.. math:: W(u_k) = \sum_{v \in F(u_k)} P(v|x)^{1/\gamma}, \qquad k = 0, …, M,

and v from its conditional law there: iterated sampling importance resampling. Given the M + 1 candidates, each of them
could have been the chain's own, with a probability in proportion to W; drawing one afresh is a Gibbs step. Where the
candidates' fibres are mostly empty, M tries in one batch cost a GPU little more than one.

Half of the steps, chosen by a coin that ignores the state, propose only the sites near the dropped ones and keep the
others: the same step for Q* given those. With many sites, few proposals of all of them can be completed.

Reference: C. Andrieu, A. Doucet, R. Holenstein, Particle Markov chain Monte Carlo methods, JRSS B 72 (2010); H.
Tjelmeland, Using all Metropolis–Hastings proposals to estimate mean values, NTNU Statistics 4/2004.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ..dice import Dice
from ..errors import LearnerError
from ..inverses.base import Fibre, complete
from ..projections.base import Dropped, Walk
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from .base import KERNELS, Info, Kernel, Projected, fibre_weights, info, pick, redraw_marginals

FIXED_POINT = 2**52
STAY = 2**22  # completions of all candidates of a batch, up to which a GPU does not pack them


@dataclass(frozen=True)
class Several(Projected):
    """Target Q*; invariance holds, and detailed balance for each set of dropped sites.

    ``tries`` is M; ``reach`` the distance from the dropped sites within which nearby steps propose, 0 for none such;
    ``marginals`` whether steps report the mean over all candidates and completions, for a loss with less noise. A chain
    whose own fibre is incomplete stays; other incomplete fibres count as empty.
    """

    tries: int = 8
    marginals: bool = False
    reach: int = 6

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise LearnerError.of({"tries": self.tries}, "expected 1 or more.")

    def step(self, dice: Dice, z: Tensor, target: Target[CategoricalBelief]) -> tuple[Tensor, Info]:
        scores, each = target.weights.scores, 1 + self.tries
        dropped = self.projection.draw(dice, len(z), z.device)
        kept = dropped.kept(z.shape[1])[:, None]
        fresh = kept & self._proposed(dice, dropped, z.shape[1])[:, None] if self.reach else kept
        drawn = dice.categorical(scores.repeat_interleave(self.tries, 0).flatten(0, 1)).view(len(z), self.tries, -1)
        states = torch.cat([z[:, None], torch.where(fresh, drawn, z[:, None])], 1)  # the chain's own first
        row = torch.arange(len(z), device=z.device).repeat_interleave(each)
        fibre = self.inverse.fibre(states.flatten(0, 1), target.answers[row], dropped.rows(row))
        options, whole = fibre.values.shape[1], fibre.complete.view(len(z), each)
        held, found = ~whole[:, :1], fibre.mask & fibre.complete[:, None]
        # The completions of all candidates of an example, side by side.
        place, mask = self._places(found.reshape(len(z), each * options))
        values = fibre.values.reshape(len(z), each * options, dropped.count)
        values = values.gather(1, place[..., None].expand(-1, -1, dropped.count))
        weights = fibre_weights(target, dropped, Fibre(values, mask, held)).masked_fill(held, 0.0)
        choice = dice.categorical(weights)
        candidate = place // options
        taken = candidate.gather(1, choice[:, None])[:, 0]
        after = torch.where(held, z, complete(pick(states, taken), dropped, pick(values, choice)))
        marginals = None
        if self.marginals:
            # Whole numbers add up to the same in any order, on a GPU too.
            whole_shares = (weights.double().softmax(-1) * FIXED_POINT).long()
            share = whole_shares.new_zeros(len(z), each).scatter_add(1, candidate, whole_shares)
            marginals = share.new_zeros(scores.shape).scatter_add(2, states.mT, share[:, None].expand_as(states.mT))
            marginals = redraw_marginals(marginals, dropped, values, whole_shares).double() / FIXED_POINT
            marginals = torch.where(held[..., None], one_hot(z, scores.shape[2]), marginals).to(scores.dtype)
        return after, info(z, after, (taken > 0) & ~held[:, 0], ~whole.all(1), marginals)

    def _places(self, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Pack the true places of each row of ``mask``; return them and which are real. Most candidates have none.

        A GPU packs only large batches: asking for the number of places takes it longer than the extra work.
        """
        if mask.is_cuda and mask.numel() <= STAY:
            return torch.arange(mask.shape[1], device=mask.device).expand(mask.shape), mask
        (row, place), count = mask.nonzero(as_tuple=True), mask.sum(1)
        packed = place.new_zeros(len(mask), max(1, int(count.max())))
        packed[row, torch.arange(len(row), device=row.device) - (count.cumsum(0) - count)[row]] = place
        return packed, torch.arange(packed.shape[1], device=row.device) < count[:, None]

    def _proposed(self, dice: Dice, dropped: Dropped, sites: int) -> Tensor:
        """All sites, or those within reach of the dropped ones, by a fair coin: ``[batch, sites]``."""
        place = torch.arange(sites, device=dropped.sites.device)
        low, high = dropped.sites.amin(1, keepdim=True), dropped.sites.amax(1, keepdim=True)
        coin = dice.categorical(torch.zeros(len(low), 2, device=low.device))[:, None]
        return (coin == 0) | ((place >= low - self.reach) & (place <= high + self.reach))


@KERNELS.register("several")
def _by_name(walk: Walk, marginals: bool) -> Kernel:
    return Several(walk.inverse, walk.family, marginals=marginals)
