r"""The inverse from lists: all of S_y, state by state, for every answer that occurs.

A relation between symbols and answers has no table of answers, but each of its S_y can be listed: by trying every state
of a small space, or by a solver that finds solutions until it proves that there are no more. 10¹² states can have 5,297
solutions. Where every list is whole, the law of S_y is that of its list, and Q* is exact:

.. math:: Q^*(z) = w(z) \Big/ \sum_{z' \in S_y} w(z') .

A complement, ``Not(…)``, has its law from the list of what it excludes. Answers that were not listed before are listed
when they are asked for. Where lists are not ``whole``, they give first states, and ``rest``, the inverse of the rule
itself, does the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..constraints.base import Constraint
from ..errors import InverseError
from ..projections.base import Dropped
from ..spaces.categorical import Categorical, CategoricalBelief
from ..target import Target
from .base import Fibre, Inverse, Start
from .sets import Law, Listed, Solutions, Stated, codes_of, entries

MOST_EACH = 2**17  # states of one answer: more would make every step slow

Key = tuple[int, ...]
Found = tuple[Tensor, bool]  # sorted indices of states, and whether they are proved to be all of S_y


class Lists(Inverse):
    """Laws, starts and feasibility from lists of each answer's states, ``found``; fibres are the ``rest``'s.

    ``found`` has the sorted indices of states by the answers' keys. Without ``whole`` some may be missing.

    >>> from softground import SMT
    >>> from softground.inverses import Z3
    >>> space = Categorical([range(10)] * 2)
    >>> rule = SMT(lambda z, y: z[0] * z[1] == y, space)
    >>> lists = Lists.of(Z3(rule), rule.encode([12, 7]))
    >>> lists, lists.solutions(rule.encode([7])).index.tolist()
    (Lists(2 answers, 6 states), [17, 71])
    """

    def __init__(self, rest: Inverse, found: Mapping[Key, Tensor], whole: bool = True) -> None:
        self.rest, self.constraint = rest, rest.constraint
        self.space: Categorical = rest.space
        self.whole = whole
        self._lists: list[Tensor] = []
        self._number: dict[Key, int] = {}
        self._flat: dict[torch.device, tuple[Tensor, Tensor, Tensor]] = {}
        self._add(found)

    @classmethod
    def of(cls, rest: Inverse, y: Tensor) -> Lists:
        """The lists of these encoded answers; raises where one is too long."""
        lists = cls(rest, {})
        lists._add(lists._more(distinct(rest.constraint, y)))
        return lists

    @property
    def described(self) -> Inverse:
        """What a run folder compares: how many first states were found by lists that are not whole decides nothing."""
        return self if self.whole else self.rest

    def __repr__(self) -> str:
        rest = "" if self.whole else f", the rest by {self.rest!r}"
        return f"Lists({len(self._lists):,} answers, {sum(map(len, self._lists)):,} states{rest})"

    @property
    def exact(self) -> bool:  # type: ignore[override]
        return self.whole

    @property
    def cost(self) -> str:  # type: ignore[override]
        return "tensor" if self.whole else self.rest.cost

    @property
    def solver_seconds(self) -> float:  # type: ignore[override]
        return self.rest.solver_seconds

    @property
    def faults(self) -> dict[str, int]:
        return self.rest.faults

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        return self.rest.fibre(z, y, dropped)

    def start(self, y: Tensor, seed: int) -> Start:
        """A state drawn uniformly from each list; the rest's for other answers."""
        known = self._numbers(y) >= 0
        z = torch.zeros(len(y), self.space.sites, dtype=torch.long, device=y.device)
        found, proved = torch.zeros_like(known), known.clone()
        if bool(known.any()):
            (first, count), (index, *_) = self._rows(y[known]), self._on(y.device)
            uniform = torch.rand(len(first), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
            place = first + (uniform.to(y.device) * count).long()
            found[known] = count > 0
            z[found] = self.space.states(index[place[count > 0]])
        if not bool(known.all()):
            other = self.rest.start(y[~known], seed)
            z[~known], found[~known], proved[~known] = other.z, other.found, other.proved
        return Start(z, found, proved)

    def pinned(self, y: Tensor, seed: int, known: Tensor) -> Start:
        return super().pinned(y, seed, known) if self.whole else self.rest.pinned(y, seed, known)

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Whether z is in the list of its answer; the rule is asked about others."""
        outside = negative(self.constraint, y)
        number = self._numbers(torch.where(outside, ~y, y) if self.constraint.negates else y)
        if not self.whole or bool((number < 0).any()) or len(self._lists) * self.space.size >= 2**63:
            return self.constraint.feasible(z, y)
        listed, wanted = self._places(z.device), number * self.space.size + self.space.index(z)
        if not len(listed):
            return outside
        return (listed[torch.searchsorted(listed, wanted).clamp(max=len(listed) - 1)] == wanted) ^ outside

    def solutions(self, y: Tensor) -> Solutions:
        """The lists of these answers, or what the rest knows of them."""
        if not self.whole:
            return self.rest.solutions(y)
        if bool(negative(self.constraint, y).any()):
            raise InverseError("A complement, Not(…), holds all states that are not listed: too many to list.")
        (first, count), (index, *_) = self._rows(y), self._on(y.device)
        place, owner, offsets = entries(first, count)
        return Solutions(index[place], owner, offsets)

    def law(self, target: Target[CategoricalBelief]) -> Law:
        return super().law(target) if self.whole else self.rest.law(target)

    def set(self, y: Tensor) -> Listed:
        which = torch.stack(self._rows(y), 1)
        return Listed(which, self._on(y.device)[2], self.space.sizes)

    def beside(self, y: Tensor) -> Tensor | None:
        return y < 0 if self.constraint.negates else None

    def stated(self, y: Tensor) -> Stated:
        first, count = self._rows(~y)
        return self._on(y.device)[0][int(first) : int(first + count)], False

    @property
    def static(self) -> bool:  # type: ignore[override]
        return not self.whole and self.rest.static

    def default_kernel(self) -> Any:
        return self.rest.default_kernel()

    def _rows(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """Where each answer's list begins, and how long it is."""
        number = self._numbers(y)
        if bool((missing := number < 0).any()):
            self._add(self._more(torch.unique(y[missing].cpu(), dim=0)))
            number = self._numbers(y)
        offsets = self._on(y.device)[1]
        return offsets[number], offsets[number + 1] - offsets[number]

    def _numbers(self, y: Tensor) -> Tensor:
        """The number of each answer's list, −1 where there is none; many rows mostly have few answers."""
        answers, place = (
            torch.unique(y, return_inverse=True) if y.dim() == 1 else torch.unique(y, dim=0, return_inverse=True)
        )
        numbers = [self._number.get(key, -1) for key in keys(answers)]
        return torch.tensor(numbers, dtype=torch.long, device=y.device)[place]

    def _more(self, y: Tensor) -> dict[Key, Tensor]:
        """The lists of other answers."""
        listed = self.rest.some_solutions(y)
        for row, (index, whole) in enumerate(listed):
            if not whole:
                raise InverseError(
                    f"Not all states of the answer {self.constraint.answer(y[row])!r} could be listed: {len(index):,} "
                    "were found. Use a sampling kernel, or raise the limits."
                )
        return {key: index for key, (index, _) in zip(keys(y), listed, strict=True)}

    def join(self, other: Lists) -> None:
        """Take the lists of other answers over."""
        self._add({key: other._lists[number] for key, number in other._number.items() if key not in self._number})

    def _add(self, found: Mapping[Key, Tensor]) -> None:
        for key, index in found.items():
            self._number[key] = len(self._lists)
            self._lists.append(index.cpu())
        self._flat.clear()

    def _on(self, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """All lists one after the other, where each begins, and the states' codes in runs of sites, on ``device``."""
        if device not in self._flat:
            count = torch.tensor([len(index) for index in self._lists], dtype=torch.long)
            offsets = torch.nn.functional.pad(count.cumsum(0), (1, 0))
            flat = torch.cat([torch.zeros(0, dtype=torch.long), *self._lists])
            parts = flat, offsets, codes_of(flat, self.space.sizes)
            self._flat[device] = tuple(part.to(device) for part in parts)  # type: ignore[assignment]
        return self._flat[device]

    def _places(self, device: torch.device) -> Tensor:
        """The listed states as sorted numbers: the answer's times the size of the space, and the state's index."""
        index, offsets, _ = self._on(device)
        number = torch.arange(len(self._lists), device=device).repeat_interleave(offsets.diff())
        return number * self.space.size + index


def keys(y: Tensor) -> list[Key]:
    """Encoded answers as keys: a tuple for each row."""
    return [tuple(row) for row in (y[:, None] if y.dim() == 1 else y.flatten(1)).tolist()]


def negative(rule: Constraint, y: Tensor) -> Tensor:
    """Which encoded answers are complements."""
    return torch.lt(y, 0) if rule.negates else torch.zeros(len(y), dtype=torch.bool, device=y.device)


def distinct(rule: Constraint, y: Tensor) -> Tensor:
    """The distinct answers whose S_y must be known: for a complement, the answer that it excludes."""
    y = y.cpu()
    found: Tensor = torch.unique(torch.where(y < 0, ~y, y) if rule.negates else y, dim=0)
    return found
