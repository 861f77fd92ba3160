r"""The inverse from an explicit list of all solutions, for a rule whose S_y is small and the same for every y.

With the solutions s¹ … sᴺ as rows of a matrix, the fibre over u is

.. math:: F(u) = \{ s^k_\text{dropped} : s^k_i = u_i \text{ at every kept site } i \},

one batched comparison, whatever is dropped. The 288 boards of 4×4 Sudoku among 4¹⁶ states are the typical case.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..constraints.answers import EVERYTHING, NOTHING
from ..constraints.base import Constraint, outside_inference
from ..constraints.program import Recorded
from ..errors import InverseError
from ..projections.base import Dropped
from ..spaces.categorical import Categorical, CategoricalBelief
from ..target import Target
from .base import RECORDED, Fibre, Inverse, Record, Start, drawn
from .enumeration import Enumeration
from .sets import Shared, Solutions, Stated, ragged

COMPLEMENT_OPTIONS = 100_000  # combinations of dropped sites, where those that are not listed are wanted


@RECORDED.register("listing")
class Listing(Inverse):
    """Fibres, starts and solutions out of a list of **all** feasible states, the same for every answer y.

    Only complements (``Not``) and unknown answers (``None``) are told apart from it.

    The states are given as codes ``[N, sites]``, in any order, each once.

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
        if self._negates and bool((y < 0).any()):  # combinations are tried only where S_y is not the list
            own: Any = self  # all that is asked of a rule is what is feasible
            return Enumeration(self.space, own, cap=COMPLEMENT_OPTIONS).fibre(z, y, dropped)
        states, kept = self.states(z.device), dropped.kept(z.shape[1])
        # A kept site that differs counts one; a state of the fibre has none. One product, no [batch, N, sites] tensor.
        width = self.space.width
        hot = torch.nn.functional.one_hot(z, width).float() * kept[..., None]
        agree = hot.flatten(1) @ self.codes(z.device).T
        mask = agree > kept.sum(-1, keepdim=True) - 0.5
        # Few states of the list belong to any one fibre: they come first, in order, and the others are cut off.
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

    def solutions(self, y: Tensor) -> Solutions:
        """The whole list for each answer."""
        if self._negates and bool((y < 0).any()):
            raise InverseError("A complement, Not(…), holds all states that are not listed: too many to list.")
        index = self._indices(y.device)
        count = torch.full((len(y),), len(index), device=y.device)
        return Solutions(index.repeat(len(y)), *ragged(count))

    def set(self, y: Tensor) -> Shared:
        return Shared(y, self.codes(y.device))

    def beside(self, y: Tensor) -> Tensor | None:
        return (y < 0) | (y == NOTHING) if self._negates else None

    def stated(self, y: Tensor) -> Stated:
        return self._indices(y.device), False

    def static_law(self, target: Target[CategoricalBelief]) -> bool:
        return not self._negates

    def sole(self) -> Tensor:
        return torch.zeros(1, dtype=torch.long)  # any will do: the list is the same for all

    def start(self, y: Tensor, seed: int) -> Start:
        """A state drawn uniformly from the list for each answer."""
        states = self.states(y.device)
        if self._negates:
            return drawn(self, self.space.uniform(len(y), y.device), y, seed)
        generator = torch.Generator().manual_seed(seed)
        draw = torch.randint(len(states), (len(y),), generator=generator, device="cpu")
        true = torch.ones(len(y), dtype=torch.bool, device=y.device)
        return Start(states[draw.to(y.device)], true, true)

    def for_rule(self, rule: Constraint) -> Listing:
        if hasattr(self, "constraint"):
            return self
        twin = copy.copy(self)
        twin.constraint = rule
        return twin

    def record(self) -> Record:
        return {"kind": "listing"}, {"states": self.states(torch.device("cpu")).int()}

    @classmethod
    def rebuild(cls, space: Categorical, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Listing:
        listing = cls(space, tensors["states"].long())
        return listing.for_rule(Recorded(space, listing._answer_ids, [1], 0, None))

    def _answer_ids(self, z: Tensor) -> Tensor:
        """A listed state's answer is True, whose id is 0; any other state has none."""
        return self.feasible(z, torch.zeros_like(z[:, 0])).long() - 1

    def _indices(self, device: torch.device) -> Tensor:
        if device not in self._index:
            self._index[device] = self.space.index(self.states(device))
        return self._index[device]
