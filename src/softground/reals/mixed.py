r"""Symbols and reals in one vector: z = (s, r), symbols first, independent given x.

.. math:: \log P(z|x) = \sum_i \log P_i(s_i|x) + \log N\big(r;\, f(x),\, \sigma^2 I\big) .

A state is a row of doubles: codes of symbols, then numbers. The network gives one row for each input: the symbols'
scores, site by site, then the reals' means.

Reference: S. L. Lauritzen and N. Wermuth, Graphical models for associations between variables, some of which are
qualitative and some quantitative, Ann. Statist. 17 (1989).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..dice import Dice
from ..errors import SpaceError
from ..metrics import accuracies
from ..spaces.base import Space, check_output
from ..spaces.categorical import Categorical, CategoricalBelief
from .gaussian import Gaussian, GaussianBelief


class Mixed(Space):
    """The symbols of a ``Categorical`` space, then the numbers of a ``Gaussian`` one.

    >>> space = Mixed(Categorical([range(10)]), Gaussian(2))
    >>> space.outputs, space.decode(space.encode([(7, 0.5, -1.0)]))
    (12, [(7, 0.5, -1.0)])
    """

    categorical = False

    def __init__(self, symbols: Categorical, reals: Gaussian) -> None:
        if not isinstance(symbols, Categorical) or not isinstance(reals, Gaussian) or symbols.readings == "all":
            raise SpaceError(
                f"{symbols!r} and {reals!r} were given; expected a Categorical space with grammatical readings, then a "
                "Gaussian one."
            )
        self.symbols, self.reals = symbols, reals
        self.sites = symbols.sites + reals.sites
        self.outputs = symbols.sites * symbols.outputs + reals.sites

    def __repr__(self) -> str:
        return f"Mixed({self.symbols!r}, {self.reals!r})"

    def split(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """The codes ``[…, symbols]`` and the numbers ``[…, reals]`` of states."""
        n = self.symbols.sites
        return z[..., :n].long(), z[..., n:]

    def belief(self, output: Any, *, finite: bool = False) -> MixedBelief:
        """The network's output ``[batch, outputs]`` as P(z|x)."""
        check_output(output, {"outputs": self.outputs}, "the symbols' scores, then the reals' means", finite)
        first = self.outputs - self.reals.sites
        scores = output[:, :first].reshape(len(output), self.symbols.sites, -1)
        symbols: Any = self.symbols.belief(scores, finite=True)
        return MixedBelief(self, symbols, self.reals.belief(output[:, first:], finite=True))

    def uniform(self, batch: int, device: torch.device) -> MixedBelief:
        return MixedBelief(self, self.symbols.uniform(batch, device), self.reals.uniform(batch, device))

    def random(self, count: int, chance: torch.Generator) -> Tensor:
        return torch.cat([part.random(count, chance).double() for part in (self.symbols, self.reals)], 1)

    def encode(self, states: Sequence[Sequence[Any]]) -> Tensor:
        n = self.symbols.sites
        codes, numbers = self.symbols.encode([s[:n] for s in states]), self.reals.encode([s[n:] for s in states])
        return torch.cat([codes.double(), numbers], 1)

    def decode(self, z: Tensor) -> list[tuple[Any, ...]]:
        codes, numbers = self.split(z)
        each = zip(self.symbols.decode(codes), self.reals.decode(numbers), strict=True)
        return [symbols + reals for symbols, reals in each]

    def figures(self, predicted: Tensor, feasible: Tensor, symbols: Tensor | None) -> dict[str, float]:
        """A task's ``metrics``: answers and symbols that are right, and the reals' root mean square ``error``."""
        if symbols is None:
            return accuracies(predicted, feasible, None)
        (codes, numbers), (true, readings) = self.split(predicted), self.split(symbols)
        error = (numbers - readings).square().mean().sqrt().item()
        return accuracies(codes, feasible, true) | {"error": error}


@dataclass(frozen=True, eq=False)
class MixedBelief:
    """P(z|x) for a batch: that of the symbols times that of the reals."""

    space: Mixed
    symbols: CategoricalBelief
    reals: GaussianBelief

    def __len__(self) -> int:
        return len(self.reals)

    def log_prob(self, z: Tensor) -> Tensor:
        codes, numbers = self.space.split(z)
        return self.symbols.log_prob(codes) + self.reals.log_prob(numbers)

    def mode(self) -> Tensor:
        return torch.cat([self.symbols.mode().double(), self.reals.mode()], 1)

    def sample(self, dice: Dice) -> Tensor:
        return torch.cat([self.symbols.sample(dice).double(), self.reals.sample(dice)], 1)

    def detach(self) -> MixedBelief:
        return MixedBelief(self.space, self.symbols.detach(), self.reals.detach())

    def rows(self, index: Tensor | slice) -> MixedBelief:
        return MixedBelief(self.space, self.symbols.rows(index), self.reals.rows(index))

    def tempered(self, gamma: float) -> MixedBelief:
        return MixedBelief(self.space, self.symbols.tempered(gamma), self.reals.tempered(gamma))

    def marginals(self) -> Tensor:
        """The symbols' distributions, one site after the other, then the reals' means: ``[batch, …]``."""
        return torch.cat([self.symbols.marginals().flatten(1), self.reals.marginals()], 1)

    def marginal_log_prob(self, marginals: Tensor) -> Tensor:
        first = marginals.shape[1] - self.space.reals.sites
        laws = marginals[:, :first].reshape(len(marginals), self.space.symbols.sites, -1)
        return self.symbols.marginal_log_prob(laws) + self.reals.marginal_log_prob(marginals[:, first:])
