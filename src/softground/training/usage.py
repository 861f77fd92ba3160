r"""A prior on how often symbols are used.

With :math:`\bar p(s) = \frac{1}{Bn} \sum_{b,i} P_i(s|x_b)`, the mean belief in a batch,

.. math:: \ell(\theta) = \lambda(t)\, \mathrm{KL}(\bar p \,\|\, \pi)
          = \lambda(t) \sum_s \bar p(s) \log \frac{\bar p(s)}{\pi(s)} .

A shortcut that merges symbols leaves others unused, so the term penalises it. It does not distinguish one-to-one
readings that use symbols equally often. For a uniform π it is :math:`\lambda \sum_s \bar p \log \bar p` and a constant.

The term is biased, because neither a batch nor the data have π's frequencies exactly. So λ(t) is λ for the first half
of the stage, in which the symbols are found, then falls linearly, and is 0 in the last quarter, which depends on the
answers only: by then another reading costs more than the term ever gave.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor

from ..errors import LearnerError
from ..retired import MEMBERS
from ..spaces.categorical import Categorical
from .step import Batch, Moment, Term, TrainingSet, fading

LEAST = 1e-6  # lower bound of the prior, to keep the loss finite


@dataclass(frozen=True)
class Usage(Term):
    """Pull the usage of symbols towards a prior.

    Parameters
    ----------
    prior
        ``"uniform"``, or a distribution: a dict of the symbols' shares, or the shares in the order of the space's
        ``symbols``.
    weight
        λ, its weight beside the teacher's loss, which is per site.

    >>> Usage({"a": 0.5, "b": 0.5}, weight=1.0).at(0.625)
    0.5
    """

    prior: Literal["uniform"] | Mapping[Hashable, float] | Sequence[float] = "uniform"
    weight: float = 3.0
    prepared: tuple[Tensor, Tensor] | None = field(default=None, repr=False, compare=False)  # log π, and columns

    def __post_init__(self) -> None:
        if not 0 <= self.weight < math.inf:
            raise LearnerError.of({"usage_weight": self.weight}, "expected a finite number, 0 or more.")
        if isinstance(self.prior, str):
            if self.prior != "uniform":
                gone = MEMBERS.get(("usage", self.prior))
                remedy = f", which is gone. {gone}" if gone else "expected 'uniform', or the symbols' shares."
                raise LearnerError.of({"usage": self.prior}, remedy)
            return
        shares = [float(s) for s in (self.prior.values() if isinstance(self.prior, Mapping) else self.prior)]
        if min(shares, default=-1.0) < 0 or not math.isclose(sum(shares), 1.0, abs_tol=1e-6):
            raise LearnerError(
                f"The usage prior {shares} was given, which adds up to {sum(shares):g}; expected shares of at least 0 "
                "that add up to 1."
            )

    @classmethod
    def named(cls, text: str, weight: float) -> Usage:
        """Parse an option: a word, or shares separated by commas."""
        if text == "uniform" or ("usage", text) in MEMBERS:
            return cls(text, weight)  # type: ignore[arg-type]
        try:
            shares = [float(share) for share in text.split(",")]
        except ValueError as error:
            raise LearnerError.of({"usage": text}, "expected none, uniform, or shares such as 0.2,0.5,0.3.") from error
        return cls(shares, weight)

    def at(self, share: float) -> float:
        """λ(t)."""
        return self.weight * fading(share)

    def begin(self, train: TrainingSet) -> Usage:
        space, device = train.task.space, train.y.device
        if not space.categorical:
            raise LearnerError(f"A usage prior was given for {space!r}, whose components are reals.")
        shares = self._shares(space).clamp(min=LEAST)
        return replace(self, prepared=(shares.log().to(device), space.layout(device).symbols))

    def _shares(self, space: Categorical) -> Tensor:
        """π in the order of the space's symbols."""
        count = len(space.symbols)
        if self.prior == "uniform":
            return torch.full((count,), 1 / count, dtype=torch.float64)
        place = {symbol: column for column, symbol in enumerate(space.symbols)}
        named = isinstance(self.prior, Mapping)
        given: Any = (
            self.prior if isinstance(self.prior, Mapping) else dict(zip(space.symbols, self.prior, strict=False))
        )
        if set(given) - set(place) or (not named and len(self.prior) != count):
            raise LearnerError(
                f"A usage prior of {len(self.prior)} shares{f' for {list(given)!r}' if named else ''} was given; the "
                f"symbols are {list(space.symbols)!r}. Give each its share."
            )
        return torch.tensor([float(given.get(symbol, 0.0)) for symbol in space.symbols], dtype=torch.float64)

    def numbers(self, moment: Moment) -> dict[str, float]:
        return {"usage_weight": self.at(moment.share)}

    def loss(self, batch: Batch) -> None:
        assert self.prepared is not None
        prior, where = self.prepared
        mean = batch.mean(batch.given(batch.belief).marginals()) / batch.task.space.sites
        used = mean.new_zeros(len(prior)).index_add(0, where[:, : mean.shape[1]].flatten(), mean.flatten())
        kl = (torch.xlogy(used, used) - used * prior.to(used)).sum()
        batch.losses.append(self.at(batch.moment.share) * kl / batch.processes)
        batch.figures["usage_kl"] = kl.detach().expand(len(batch.index))
