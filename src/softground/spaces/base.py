"""The space seam: symbol vectors, and log P(z|x) from the network's output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from ..dice import Dice
from ..errors import NonFiniteOutput, SpaceError


class Belief(Protocol):
    """P(z|x) for a batch of inputs, made by a space from the network's output."""

    def __len__(self) -> int:
        """Number of examples in the batch."""

    def log_prob(self, z: Tensor) -> Tensor:
        """log P(z|x), the **sum** over sites, for one symbol vector per example: ``[batch]``."""

    def mode(self) -> Tensor:
        """The most probable symbol vector of each example: ``[batch, sites]``."""

    def sample(self, dice: Dice) -> Tensor:
        """One symbol vector per example, drawn from P(z|x): ``[batch, sites]``, off the gradient tape."""

    def tempered(self, gamma: float) -> Belief:
        """The unnormalised weights P(z|x)^{1/γ}; γ = ∞ gives the uniform distribution."""

    def rows(self, index: Tensor) -> Belief:
        """The belief about a selection of the batch's examples."""

    def detach(self) -> Belief:
        """The same belief, cut off from the gradient tape."""

    def marginals(self) -> Tensor:
        """The marginals of each site: distributions ``[batch, sites, K]``, or for reals means ``[batch, sites]``."""

    def expected(self, taught: Tensor) -> Tensor:
        """Each site's share of the expected log P(z|x), under distributions or for states: ``[batch, sites]``."""

    def marginal_log_prob(self, marginals: Tensor) -> Tensor:
        """Expected log P(z|x) under a distribution with these marginals (as in ``Info.marginals``): ``[batch]``."""


class Space(ABC):
    """All symbol vectors z of a problem."""

    categorical: ClassVar[bool]  # whether components are codes of symbols from finite alphabets; else reals
    sites: int  # components of z
    mixed: bool = False  # whether a network may read a symbol outside the site's alphabet

    @abstractmethod
    def belief(self, output: Any, *, finite: bool = False) -> Belief:
        """Read the network's output as P(z|x); refuse wrong shapes and, unless known ``finite``, NaN."""

    @abstractmethod
    def uniform(self, batch: int, device: torch.device) -> Belief:
        """Weight 1 for every state, so that sums over S_y count it; in double precision."""

    def holds(self, z: Tensor) -> Tensor:
        """Whether each row of ``z[rows, sites]`` is a state of the space; in a mixed space a reading may not be."""
        return torch.ones(len(z), dtype=torch.bool, device=z.device)

    def random(self, count: int, chance: torch.Generator) -> Tensor:
        """Some states to try a rule on, ``[count, sites]``: symbols drawn uniformly, reals from N(0, 1)."""
        return torch.randn(count, self.sites, generator=chance)

    @abstractmethod
    def encode(self, states: Sequence[Sequence[Any]]) -> Tensor:
        """The user's symbols as states, ``[len(states), sites]``."""

    @abstractmethod
    def decode(self, z: Tensor) -> list[tuple[Any, ...]]:
        """States as the user's symbols, one tuple per state."""


def check_output(output: Any, expected: dict[str, int], meaning: str, finite: bool) -> None:
    """Refuse an output that is not of shape ``(batch, *expected.values())`` or, unless known ``finite``, holds NaN."""
    if not isinstance(output, Tensor) or not output.dim() or tuple(output.shape[1:]) != tuple(expected.values()):
        given = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
        shape = ", ".join(["batch", *(f"{size} {name}" for name, size in expected.items())])
        raise SpaceError(f"The network's output has shape {given}; expected ({shape}): {meaning}.")
    if not finite and not torch.isfinite(output).all():
        row = int((~torch.isfinite(output)).flatten(1).any(1).nonzero()[0])
        raise NonFiniteOutput(
            f"The network's output holds NaN or infinity (first at row {row} of its batch). "
            "Lower the learning rate, or look for NaN in the inputs."
        )
