r"""Walk on u alone, with the dropped sites summed out. Exact for Q*.

With w(z) = P(z|x)^{1/γ} = w(u) w(v), the marginal of Q* on Ω is

.. math:: Q^*(u) \propto w(u) \, W(u), \qquad W(u) = \sum_{v \in F(u)} w(v) .

The *collapsed* kernel changes one component of u (symmetric), with ratio w(u′)W(u′) / w(u)W(u): Metropolis on
Ω. The *guided* kernel lets the network itself propose all of u′ ~ w(u′), wherever the chain is. The proposal's density
cancels w, and the ratio is W(u′) / W(u): an independence sampler, which jumps across the space in one step and frees
chains that single-site walks leave frozen as γ falls.

Then v is drawn from its conditional law w(v)/W(u), **also when the move was rejected** (a Gibbs step), so a chain never
idles while its fibre holds more than one completion.

References: J. S. Liu, The collapsed Gibbs sampler, JASA 89 (1994); L. Tierney, Markov chains for exploring posterior
distributions, Ann. Statist. 22 (1994).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ..dice import Dice
from ..inverses.base import Fibre, complete
from ..projections.base import Dropped, Move
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from .base import KERNELS, Info, Projected, fibre_weights, info, pick


@dataclass(frozen=True)
class Collapsed(Projected):
    """Target Q*; invariance holds (it is Metropolis on Ω followed by Gibbs on the dropped sites).

    ``marginals`` says whether steps report the dropped sites' conditional law, for a loss with less noise.
    """

    move: Move
    marginals: bool = False

    def step(self, dice: Dice, z: Tensor, target: Target[CategoricalBelief]) -> tuple[Tensor, Info]:
        dropped = self.projection.draw(dice, len(z), z.device)
        kept = dropped.kept(z.shape[1])
        proposal = self.move.propose(dice, z, kept)
        fibres = self.two_fibres(z, proposal, target.answers, dropped)
        difference = target.weights.site_scores(proposal) - target.weights.site_scores(z)
        prior = torch.where(kept, difference, 0).sum(-1)
        return redraw(dice, target, z, proposal, dropped, fibres, prior, self.marginals)


@dataclass(frozen=True)
class Guided(Projected):
    """Target Q*; invariance holds (an independence sampler on Ω followed by Gibbs on the dropped sites).

    ``marginals`` says whether steps report the dropped sites' conditional law, for a loss with less noise.
    """

    marginals: bool = False

    def step(self, dice: Dice, z: Tensor, target: Target[CategoricalBelief]) -> tuple[Tensor, Info]:
        dropped = self.projection.draw(dice, len(z), z.device)
        drawn = dice.categorical(target.weights.scores.flatten(0, 1)).view_as(z)
        proposal = torch.where(dropped.kept(z.shape[1]), drawn, z)
        fibres = self.two_fibres(z, proposal, target.answers, dropped)
        return redraw(dice, target, z, proposal, dropped, fibres, 0.0, self.marginals)


KERNELS.register("collapsed")(lambda walk, marginals: Collapsed(walk.inverse, walk.family, walk.move, marginals))
KERNELS.register("guided")(lambda walk, marginals: Guided(walk.inverse, walk.family, marginals))


def conditional_marginals(z: Tensor, dropped: Dropped, values: Tensor, weights: Tensor, width: int) -> Tensor:
    """Marginals that know the dropped sites' law given the kept ones: ``[batch, sites, K]``.

    Kept sites are one-hot at z; dropped sites carry the normalised ``weights[batch, options]`` of the fibre.
    """
    marginals = one_hot(z, width).to(weights.dtype)
    for j in range(dropped.count):
        law = torch.zeros(len(z), width, dtype=weights.dtype, device=z.device).scatter_add(1, values[:, :, j], weights)
        marginals = marginals.scatter(1, dropped.sites[:, j, None, None].expand(-1, 1, width), law[:, None])
    return marginals


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
    """Accept u′ with ratio exp(prior) · W(u′)/W(u), then draw v from its conditional law on the fibre kept.

    A chain whose own fibre is incomplete stays where it is: its conditional law is not known.
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
