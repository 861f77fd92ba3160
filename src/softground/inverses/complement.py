r"""The law on a complement, Ω \ S_y: exact, from the law on S_y alone.

With Z the mass of the whole space, a product over sites, M that of S_y, and P_i and Q_i their marginals,

.. math:: \log \sum_{z \notin S_y} w(z) = \log(Z - M), \qquad
          \bar Q_i(s) = \frac{Z\,P_i(s) - M\,Q_i(s)}{Z - M} .

A draw takes the sites one after the other, each from these marginals given the symbols drawn before it. So Ω is never
listed, and S_y only where it is anyway. Everything is in double precision: where all but 10⁻¹² of the mass is inside
S_y, what is left cannot be told from rounding, and counts as nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from operator import methodcaller
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ..constraints.interned import EVERYTHING
from ..dice import Dice
from ..errors import InfeasibleAnswer
from ..spaces.categorical import CategoricalBelief
from ..target import Target
from .law import Law

LOG_ZERO = -1e30  # stands for log 0: sums and differences of it are finite
LEAST = 1e-12  # of a mass, below which a difference is rounding
CHUNK = 256  # states that are looked at together

Targets = Target[CategoricalBelief]
Feasible = Callable[[Tensor, Tensor], Tensor]


def signed(law: Callable[[Targets], Law], feasible: Feasible, target: Targets) -> Law:
    """The law for answers some of which are complements, ``law`` being that of the others."""

    def complement(part: Targets) -> Law:
        return Complement(law, feasible, Target(part.weights, ~part.answers, part.gamma))

    return split([(target.answers >= 0, law), (target.answers < 0, complement)], target)


def split(parts: Sequence[tuple[Tensor, Callable[[Targets], Law]]], target: Targets) -> Law:
    """The law of a batch whose rows belong to several laws, by masks that divide it."""
    found: list[tuple[Tensor, Law]] = []
    for mask, law in parts:
        rows = mask.nonzero().flatten()
        if len(rows) == len(mask):
            return law(target)
        if len(rows):
            found.append((rows, law(Target(target.weights.rows(rows), target.answers[rows], target.gamma))))
    return Split(found)


class Complement(Law):
    """Q* on Ω \\ S_y, where ``law`` gives the law on S_y and the target's answers are those y."""

    def __init__(self, law: Callable[[Targets], Law], feasible: Feasible, target: Targets) -> None:
        weights = target.weights
        self.law, self.feasible, self.y, self.dtype = law, feasible, target.answers, weights.scores.dtype
        self.weights = CategoricalBelief(weights.space, weights.scores.double())
        # Nothing has to be taken away from the whole space where the answer is unknown.
        self.some = (self.y != ~EVERYTHING).nonzero().flatten()

    def _inside(self, weights: CategoricalBelief, some: Tensor) -> Law:
        return self.law(Target(weights.rows(some), self.y[some], 1.0))

    def log_mass(self) -> Tensor:
        whole, share = self._masses(self.weights)
        share = share.clamp(max=-LEAST)
        # log(1 − exp(share)), each half by the form that loses no digits there.
        near = share > -0.5
        log = torch.where(near, (-share.clamp(min=-1.0).expm1()).log(), (-share.clamp(max=-0.25).exp()).log1p())
        return (whole + log).to(self.dtype)

    def _masses(self, weights: CategoricalBelief) -> tuple[Tensor, Tensor]:
        """log Z, and log M/Z."""
        whole = weights.scores.logsumexp(-1).sum(-1)
        inside = torch.full_like(whole, LOG_ZERO)
        if len(self.some):
            inside = inside.index_copy(0, self.some, self._inside(weights, self.some).log_mass().clamp(min=LOG_ZERO))
        return whole, inside - whole

    def marginals(self) -> Tensor:
        return self._marginals(self.weights).to(self.dtype)

    def _marginals(self, weights: CategoricalBelief) -> Tensor:
        share, whole = self._masses(weights)[1], weights.marginals()
        some = self.some[share[self.some] > LOG_ZERO / 2]
        left = whole
        if len(some):
            inside = share[some].exp()[:, None, None] * self._inside(weights, some).marginals()
            left = whole.index_add(0, some, inside, alpha=-1)
        left = torch.where(left > LEAST * whole, left, 0.0)
        total = left.sum(-1, keepdim=True)
        return torch.where(total > 0, left / total.clamp(min=LEAST**2), whole)

    @torch.no_grad()
    def draw(self, dice: Dice) -> Tensor:
        scores, drawn = self.weights.scores.detach(), []
        for site in range(scores.shape[1]):
            law = self._marginals(CategoricalBelief(self.weights.space, scores))[:, site]
            drawn.append(dice.categorical(law.log()))
            other = one_hot(drawn[-1], scores.shape[2]) == 0
            row = scores[:, site].masked_fill(other, LOG_ZERO)
            scores = scores.index_copy(1, torch.tensor([site], device=scores.device), row[:, None])
        return torch.stack(drawn, 1)

    def mode(self) -> Tensor:
        """The likeliest states are tried in order, until one is outside S_y."""
        best = self.weights.mode()
        inside = self.some[self.feasible(best[self.some], self.y[self.some])]
        for row in inside.tolist():
            for states in likeliest(self.weights.scores[row]):
                fine = ~self.feasible(states, self.y[row].expand(len(states)))
                if bool(fine.any()):
                    best[row] = states[int(fine.to(torch.uint8).argmax())]
                    break
            else:
                raise InfeasibleAnswer(f"No state is outside S_y for row {row} of this batch.", (row,))
        return best


class Split(Law):
    """The law of a batch whose rows belong to several laws."""

    def __init__(self, parts: Sequence[tuple[Tensor, Law]]) -> None:
        self.parts = parts

    def draw(self, dice: Dice) -> Tensor:
        return self._joined(methodcaller("draw", dice))

    def marginals(self) -> Tensor:
        return self._joined(methodcaller("marginals"))

    def log_mass(self) -> Tensor:
        return self._joined(methodcaller("log_mass"))

    def mode(self) -> Tensor:
        return self._joined(methodcaller("mode"))

    def entropy(self) -> Tensor:
        return self._joined(methodcaller("entropy"))

    def draw_with_marginals(self, dice: Dice) -> tuple[Tensor, Tensor]:
        drawn, marginals = zip(*self._each(methodcaller("draw_with_marginals", dice)), strict=True)
        return self._in_order(drawn), self._in_order(marginals)

    def _joined(self, ask: Callable[[Law], Tensor]) -> Tensor:
        return self._in_order(self._each(ask))

    def _each(self, ask: Callable[[Law], Any]) -> list[Any]:
        found = []
        for own, law in self.parts:
            try:
                found.append(ask(law))
            except InfeasibleAnswer as error:  # which knows the rows of its part only
                raise InfeasibleAnswer(str(error), tuple(own[list(error.examples)].tolist())) from error
        return found

    def _in_order(self, found: Sequence[Tensor]) -> Tensor:
        return torch.cat([*found])[torch.cat([rows for rows, _ in self.parts]).argsort()]


def likeliest(scores: Tensor) -> Iterator[Tensor]:
    """The states of a space from the most probable one down, as codes ``[CHUNK or fewer, sites]`` at a time.

    The i-th best symbol of each site gives a state a rank vector; lowering one rank at a time from the all-best vector
    reaches every state once (only sites from the last lowered one on may be lowered), never before a likelier one.
    """
    ranked, symbols = scores.double().cpu().sort(-1, descending=True)
    sizes, score = (ranked > -torch.inf).sum(-1).tolist(), ranked.tolist()  # known symbols leave one
    heap = [(0.0, (0,) * len(sizes), 0)]
    while heap:
        chunk: list[tuple[int, ...]] = []
        while heap and len(chunk) < CHUNK:
            loss, ranks, site = heapq.heappop(heap)
            chunk.append(ranks)
            for i in range(site, len(sizes)):
                if ranks[i] + 1 < sizes[i]:
                    lower = (*ranks[:i], ranks[i] + 1, *ranks[i + 1 :])
                    step = score[i][ranks[i]] - score[i][ranks[i] + 1]
                    heapq.heappush(heap, (loss + step, lower, i))
        yield symbols.gather(1, torch.tensor(chunk).T).T.to(scores.device)
