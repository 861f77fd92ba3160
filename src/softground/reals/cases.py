r"""Rules of symbols and reals: for every combination s of the symbols, equations A_s r + g_s = y of the reals.

Given s, the reals have the conditional Gaussian of :mod:`softground.reals.equations`, and y a density. So with
z ~ P(s) N(f, vI) the law on S_y is a finite mixture, exact by going through all combinations, the *cases*:

.. math:: P(y) = \sum_s P(s)\, N\big(y;\, A_s f + g_s,\, v A_s A_s^\top\big), \qquad
          Q^*(s) \propto P(s)\, N(y; \cdot), \qquad
          r \,|\, s, y \sim N\big(\Pi_s f,\; v (I - A_s^\top (A_s A_s^\top)^{-1} A_s)\big)

with :math:`\Pi_s x = x + A_s^\top (A_s A_s^\top)^{-1} (y - g_s - A_s x)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ..constraints.base import Constraint
from ..dice import Dice
from ..errors import ConstraintError
from ..inverses.base import Fibre, Inverse, Start
from ..inverses.enumeration import default_inverse
from ..inverses.law import Law
from ..projections.base import Dropped
from ..target import Target
from .equations import numbers
from .gaussian import snap
from .linear import Affine, asked
from .mixed import Mixed, MixedBelief
from .polyhedra import ROUNDING

MOST_CASES = 2**16


class MixedRule(Constraint):
    """z = (s, r) ∈ S_y ⇔ ``rule(s, r)`` = y, to within ``tolerance`` (by default σ).

    ``rule`` gets the symbols and, for the reals, expressions of which it makes sums and multiples; it returns one or a
    list of these, and y has a number for each. What it does with the symbols is free, but it must be linear in the
    reals, independently in each case; None says that the symbols cannot be. It is called once for every combination.

    >>> from softground.spaces import Categorical
    >>> from softground.reals import Gaussian
    >>> scale = Mixed(Categorical([range(10)]), Gaussian(1, sigma=0.1))  # a digit, and the rest that a dial shows
    >>> rule = MixedRule(lambda s, r: s[0] + r[0], scale)
    >>> rule.feasible(scale.encode([(7, 0.25), (6, 0.25)]), rule.encode([7.25, 7.25])).tolist()
    [True, False]
    """

    def __init__(
        self, rule: Callable[[list[Any], list[Affine]], Any], space: Mixed, *, tolerance: float | None = None
    ) -> None:
        if not isinstance(space, Mixed) or space.symbols.size > MOST_CASES:
            raise ConstraintError(
                f"{space!r} was given; expected a Mixed space whose symbols have at most {MOST_CASES:,} combinations."
            )
        self.space, self.tolerance = space, space.reals.sigma if tolerance is None else tolerance
        if not 0 < self.tolerance < math.inf:
            raise ConstraintError(f"tolerance={tolerance} was given; expected a positive number.")
        codes, m = space.symbols.states(torch.arange(space.symbols.size)), space.reals.sites
        units = [Affine(tuple(float(i == j) for j in range(m))) for i in range(m)]
        found = [
            _expressions(asked(rule, list(symbols), units, f"the symbols {symbols!r}"), symbols, m)
            for symbols in space.symbols.decode(codes)
        ]
        counts = {len(one) for one in found if one is not None}
        if len(counts) != 1:
            raise ConstraintError(
                f"The rule gave {sorted(counts)} numbers of equations; expected the same number, one or more, for all "
                "symbols that can be."
            )
        (self.equations,) = counts
        self.case = torch.tensor([one is not None for one in found]).cumsum(0) - 1  # of each combination
        self.case[[one is None for one in found]] = -1
        self.codes = codes[self.case >= 0]
        rows = torch.tensor([[[*e.coefficients, e.constant] for e in one] for one in found if one], dtype=torch.float64)
        self.matrix, self.offset = rows[..., :-1], rows[..., -1]  # [cases, equations, reals], [cases, equations]
        ranks = torch.linalg.matrix_rank(self.matrix) if bool(torch.isfinite(rows).all()) else torch.zeros(1)
        if int(ranks.min()) < self.equations:
            symbols = space.symbols.decode(self.codes[ranks.argmin()][None])[0]
            raise ConstraintError(
                f"With the symbols {symbols!r} the equations depend on each other, hold no real symbol, or something "
                "that is no number; leave out what follows from others, and what is about symbols alone."
            )
        self.back = torch.linalg.pinv(self.matrix)

    def __repr__(self) -> str:
        return f"MixedRule({self.equations} equations, {len(self.codes):,} cases)"

    def on(self, like: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Codes, matrices, offsets and pseudo-inverses of the cases, where ``like`` is."""
        return tuple(part.to(like.device) for part in (self.codes, self.matrix, self.offset, self.back))  # type: ignore[return-value]

    def encode(self, answers: Sequence[Any]) -> Tensor:
        return numbers(answers, self.equations)

    def value(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """A_s r + g_s of each row, ``[rows, equations]``, and whether its symbols can be."""
        codes, r = self.space.split(z.double())
        case = self.case.to(z.device)[self.space.symbols.index(codes)]
        _, matrix, offset, _ = self.on(z)
        return (matrix[case] @ r[..., None]).squeeze(-1) + offset[case], case >= 0

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        value, can_be = self.value(z)
        return ((value - y).abs() <= self.tolerance).all(-1) & can_be

    def admissible(self, z: Tensor) -> Tensor:
        return self.value(z)[1]

    def answer(self, y: Tensor) -> Any:
        return y.item() if len(y) == 1 else tuple(y.tolist())

    def compute(self, z: Tensor) -> list[Any]:
        value, can_be = self.value(z)
        return [self.answer(row) if held else None for row, held in zip(value, can_be.tolist(), strict=True)]


def _expressions(value: Any, symbols: tuple[Any, ...], reals: int) -> list[Affine] | None:
    """What a rule returned for some symbols, as expressions of the reals."""
    if value is None:
        return None
    each = list(value) if isinstance(value, list | tuple) else [value]
    if not each or not all(isinstance(one, Affine) for one in each):
        raise ConstraintError(
            f"The rule returned {value!r} for the symbols {symbols!r}; expected one or more sums of real symbols, or "
            "None where these symbols cannot be."
        )
    return each


class ByCase(Inverse):
    """First states, completions and the law of a :class:`MixedRule`, case by case.

    A fibre has one completion for each combination of the dropped symbols: of the reals, the nearest to those handed
    in. It is incomplete where there are more.
    """

    exact = True

    def __init__(self, rule: MixedRule) -> None:
        self.rule = self.constraint = rule
        self.space = rule.space

    def __repr__(self) -> str:
        return f"ByCase({self.rule!r})"

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        (own, r), (codes, matrix, offset, _) = self.space.split(z), self.rule.on(z)
        n, kept = own.shape[1], dropped.kept(z.shape[1])
        fits = ((codes == own[:, None]) | ~kept[:, None, :n]).all(-1)  # [batch, cases]
        free = matrix * ~kept[:, None, None, n:]
        gap = y[:, None] - offset - torch.einsum("cem,bm->bce", matrix, r)
        change = (torch.linalg.pinv(free) @ gap[..., None]).squeeze(-1)
        whole = torch.cat([codes.expand(len(z), -1, -1).double(), snap(r[:, None] + change)], 2)
        missed = (gap - (free @ (whole[..., n:] - r[:, None])[..., None]).squeeze(-1)).abs().amax(-1)
        mask = fits & (missed <= ROUNDING * (1 + free.abs().sum((-1, -2))))
        single = torch.linalg.matrix_rank(free) == (~kept[:, None, n:]).sum(-1)
        values = whole.gather(2, dropped.sites[:, None].expand(-1, len(codes), -1))
        return Fibre(values, mask, (single | ~mask).all(-1))

    def start(self, y: Tensor, seed: int) -> Start:
        """Symbols drawn uniformly, and reals near a draw from N(0, σ²I)."""
        generator = torch.Generator().manual_seed(seed)
        case = torch.randint(len(self.rule.codes), (len(y),), generator=generator)
        noise = torch.randn(len(y), self.space.reals.sites, generator=generator, dtype=torch.float64)
        z = _nearest(self.rule, case.to(y.device), self.space.reals.sigma * noise.to(y.device), y)
        found = torch.ones(len(y), dtype=torch.bool, device=y.device)
        return Start(z, found, found)

    def law(self, target: Target[MixedBelief]) -> Law:
        return CaseLaw(self.rule, target.weights, target.answers)


def _nearest(rule: MixedRule, case: Tensor, r: Tensor, y: Tensor) -> Tensor:
    """The states of some cases, one for each row, whose reals are nearest to r."""
    codes, matrix, offset, back = rule.on(r)
    gap = y - offset[case] - (matrix[case] @ r[..., None]).squeeze(-1)
    return torch.cat([codes[case].double(), snap(r + (back[case] @ gap[..., None]).squeeze(-1))], 1)


class CaseLaw(Law):
    """The mixture over the cases. At γ = ∞ all cases are alike, and there are no draws of reals."""

    def __init__(self, rule: MixedRule, weights: MixedBelief, y: Tensor) -> None:
        self.rule, self.weights, self.y = rule, weights, y
        self.codes, self.matrix, self.offset, self.back = rule.on(y)

    @cached_property
    def _gap(self) -> Tensor:
        """y − g_s − A_s f, ``[batch, cases, equations]``."""
        return (
            self.y[:, None] - self.offset - torch.einsum("cem,bm->bce", self.matrix, self.weights.reals.mean.double())
        )

    @cached_property
    def _prior(self) -> Tensor:
        """log P(s), tempered: ``[batch, cases]``."""
        sites = torch.arange(self.codes.shape[1], device=self.codes.device)
        return self.weights.symbols.scores.double()[:, sites, self.codes].sum(-1)

    @cached_property
    def _log_weights(self) -> Tensor:
        """log P(s) + log N(y; A_s f + g_s, v A_s A_sᵀ), ``[batch, cases]``."""
        variance = self.weights.reals.variance
        if not 0 < variance < math.inf:
            return self._prior
        factor = torch.linalg.cholesky(variance * self.matrix @ self.matrix.mT)
        law = torch.distributions.MultivariateNormal(torch.zeros_like(self.offset), scale_tril=factor)
        return self._prior + law.log_prob(self._gap)  # type: ignore[no-any-return,no-untyped-call]

    @cached_property
    def _means(self) -> Tensor:
        """Π_s f, ``[batch, cases, reals]``."""
        return self.weights.reals.mean.double()[:, None] + (self.back @ self._gap[..., None]).squeeze(-1)

    def draw(self, dice: Dice) -> Tensor:
        case = dice.categorical(self._log_weights)
        return _nearest(self.rule, case, self.weights.reals.sample(dice), self.y)

    def marginals(self) -> Tensor:
        """As those of :class:`~softground.reals.mixed.MixedBelief`: the symbols' laws, then the reals' means."""
        share = self._log_weights.softmax(-1)
        hot = one_hot(self.codes, self.weights.symbols.scores.shape[2]).double()
        laws = torch.einsum("bc,cnk->bnk", share, hot).flatten(1)
        return torch.cat([laws, (share[..., None] * self._means).sum(1)], 1)

    def log_mass(self) -> Tensor:
        """The log-density of y, differentiable in the scores and the means."""
        return self._log_weights.logsumexp(-1)

    def mode(self) -> Tensor:
        """The likeliest state: the case whose nearest reals are likely enough, and these."""
        variance, away = self.weights.reals.variance, self._means - self.weights.reals.mean.double()[:, None]
        far = away.square().sum(-1) / (2 * variance) if 0 < variance < math.inf else 0.0
        case = (self._prior - far).argmax(-1)
        return _nearest(self.rule, case, self.weights.reals.mean.detach().double(), self.y)


@default_inverse.register
def _(constraint: MixedRule, space: object) -> ByCase:
    return ByCase(constraint)
