r"""The inverse from an explicit list of all solutions, for a rule whose S_y is small and the same for every y.

With the solutions s¹ … sᴺ as rows of a matrix, the fibre over u is

.. math:: F(u) = \{ s^k_\text{dropped} : s^k_i = u_i \text{ at every kept site } i \},

one batched comparison, whatever is dropped. The 288 boards of 4×4 Sudoku among 4¹⁶ states are the typical case.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ..constraints.answers import EVERYTHING, NOTHING
from ..constraints.base import outside_inference
from ..errors import InverseError
from ..projections.base import Dropped
from ..spaces.categorical import Categorical
from .base import Fibre, Inverse, Start, drawn, sole
from .complements import Cubes, Stated
from .enumeration import Enumeration
from .sets import How, Set, Sets, reduced, where

COMPLEMENT_OPTIONS = 100_000  # combinations of dropped sites to try for a complement


class Listing(Inverse):
    """Fibres, starts and solutions from a list of **all** feasible states, the same for every answer y.

    Only complements (``Not``) and unknown answers (``None``) have a different S_y. The states are codes ``[N, sites]``,
    in any order, each once.

    >>> space = Categorical([range(2)] * 3)
    >>> Listing(space, torch.tensor([[1, 0, 0], [0, 1, 0], [0, 0, 1]]))
    Listing(3 states)
    """

    exact = True

    def __init__(self, space: Categorical, states: Tensor) -> None:
        if states.dim() != 2 or states.shape[1] != space.sites or not len(states):
            raise InverseError(
                f"States of shape {tuple(states.shape)} were listed; expected (one or more, {space.sites} sites)."
            )
        order: Tensor = torch.unique(states, dim=0)  # sorted: fibres are in lexicographic order
        if len(order) != len(states):
            repeated = len(states) - len(order)
            raise InverseError(f"{repeated} of {len(states)} listed states are repeated; list each once.")
        if bool((order < 0).any()) or bool((order >= space.layout(order.device).sizes).any()):
            raise InverseError("A listed state has a code outside its site's alphabet; give codes, not symbols.")
        self.space: Categorical = space
        self._states = {order.device: order}
        self._index: dict[torch.device, Tensor] = {}
        self._codes: dict[torch.device, Tensor] = {}
        self._cubes = Cubes(space, self._stated)

    def __repr__(self) -> str:
        return f"Listing({len(next(iter(self._states.values()))):,} states)"

    def states(self, device: torch.device) -> Tensor:
        """The list on ``device``, in lexicographic order, copied once."""
        if device not in self._states:
            self._states[device] = next(iter(self._states.values())).to(device)
        return self._states[device]

    @outside_inference()
    def codes(self, device: torch.device) -> Tensor:
        """The list as one-hot codes ``[N, sites · K]``."""
        if device not in self._codes:
            hot = torch.nn.functional.one_hot(self.states(device), self.space.width)
            self._codes[device] = hot.float().flatten(1)
        return self._codes[device]

    @property
    def _negates(self) -> bool:
        """Whether some answers are complements, as the rule that encoded them knows."""
        return hasattr(self, "constraint") and self.constraint.negates

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        if self._negates and bool((y < 0).any()):  # S_y is not the list: try combinations
            own: Any = self  # stands for the rule: only feasible() is called
            return Enumeration(self.space, own, cap=COMPLEMENT_OPTIONS).fibre(z, y, dropped)
        states, kept = self.states(z.device), dropped.kept(z.shape[1])
        # A state of the fibre agrees at every kept site. One product, no [batch, N, sites] tensor.
        width = self.space.width
        hot = torch.nn.functional.one_hot(z, width).float() * kept[..., None]
        agree = hot.flatten(1) @ self.codes(z.device).T
        mask = agree > kept.sum(-1, keepdim=True) - 0.5
        # A fibre has few of the listed states: put them first, in order, and cut off the others.
        options = max(1, int(mask.sum(-1).max())) if len(z) else 1
        place = mask.to(torch.uint8).argsort(dim=1, descending=True, stable=True)[:, :options]
        values = states[place].gather(2, dropped.sites[:, None].expand(-1, options, -1))
        whole = torch.ones(len(z), dtype=torch.bool, device=z.device)
        return Fibre(values, mask.gather(1, place), whole)

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Whether z is on the list: one search in its sorted indices."""
        listed, wanted = self._indices(z.device), self.space.index(z)
        found = listed[torch.searchsorted(listed, wanted).clamp(max=len(listed) - 1)] == wanted
        return (found ^ (y < 0)) | (y == EVERYTHING) if self._negates else found

    def set(self, y: Tensor) -> Sets:
        beside = (y < 0) | (y == NOTHING) if self._negates else None
        return where(y, beside, lambda y: Shared(y, self.codes(y.device)), self._cubes)

    def _stated(self, y: Tensor) -> Stated:
        return self._indices(y.device), False

    def start(self, y: Tensor, seed: int) -> Start:
        """A state drawn uniformly from the list for each answer."""
        states = self.states(y.device)
        if self._negates:
            return drawn(self, self.space.uniform(len(y), y.device), y, seed)
        generator = torch.Generator().manual_seed(seed)
        draw = torch.randint(len(states), (len(y),), generator=generator, device="cpu")
        true = torch.ones(len(y), dtype=torch.bool, device=y.device)
        return Start(states[draw.to(y.device)], true, true)

    def _indices(self, device: torch.device) -> Tensor:
        if device not in self._index:
            self._index[device] = self.space.index(self.states(device))
        return self._index[device]


@sole.register
def _(inverse: Listing) -> Tensor:
    return torch.zeros(1, dtype=torch.long)  # any code: the list is the same for all


@dataclass(frozen=True, eq=False)
class Shared(Set):
    """One list for all examples, as one-hot ``codes[states, sites · K]``: its log-weights are one product."""

    codes: Tensor
    filled: bool = field(default=True, kw_only=True)

    def reduce(self, scores: Tensor, how: How) -> Tensor:
        return reduced(scores.flatten(1) @ self.codes.to(scores.dtype).T, how)

    def slopes(self, scores: Tensor, how: How) -> Tensor:
        """By the same codes, without a tape, in half the time."""
        codes = self.codes.to(scores.dtype)
        x = scores.flatten(1) @ codes.T
        if how == "sum":
            return (x.softmax(-1) @ codes).view_as(scores)
        return codes[x.argmax(-1) if isinstance(how, str) else how.categorical(x)].view_as(scores)
