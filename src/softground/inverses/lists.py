r"""The inverse from lists: all of S_y, state by state, for every answer that occurs.

A relation between symbols and answers has no table of answers, but each S_y can be listed: by trying every state of a
small space, or by a solver that finds solutions until it proves that there are no more. 10¹² states may have only 5,297
solutions. Q* follows from the list:

.. math:: Q^*(z) = w(z) \Big/ \sum_{z' \in S_y} w(z') .

A complement, ``Not(…)``, uses the list of the states that it excludes. ``rest``, the rule's own inverse, lists further
answers when they are needed, and computes fibres.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ..constraints.base import Constraint
from ..errors import InverseError
from ..projections.base import Dropped
from ..spaces.categorical import Categorical
from .base import Fibre, Inverse, Start, solutions
from .codes import ByAnswer, entries
from .complements import Cubes, Stated
from .sets import Listed, Sets, where
from .solved import Solved

MOST_EACH = 2**17  # states of one answer: more would make every step slow

Key = tuple[int, ...]
Found = tuple[Tensor, bool]  # sorted indices of states, and whether they are proved to be all of S_y


class Lists(Inverse):
    """Laws, starts and feasibility from lists of each answer's states; ``rest`` computes fibres.

    ``found`` has the sorted indices of states by the answers' keys.

    >>> from softground import SMT
    >>> from softground.inverses import Z3, solutions
    >>> space = Categorical([range(10)] * 2)
    >>> rule = SMT(lambda z, y: z[0] * z[1] == y, space)
    >>> lists = Lists.of(Z3(rule), rule.encode([12, 7]))
    >>> lists, solutions(lists, rule.encode([7])).index.tolist()
    (Lists(2 answers, 6 states), [17, 71])
    """

    exact = True

    def __init__(self, rest: Inverse, found: Mapping[Key, Tensor]) -> None:
        self.rest, self.constraint = rest, rest.constraint
        self.space: Categorical = rest.space
        self._lists = list(found.values())
        self._numbers = {key: number for number, key in enumerate(found)}
        self._on: dict[torch.device, ByAnswer] = {}
        self._cubes = Cubes(self.space, self._stated)

    @classmethod
    def of(cls, rest: Inverse, y: Tensor) -> Lists:
        """List these encoded answers; raise if a list is too long."""
        lists = cls(rest, {})
        lists._number(distinct(rest.constraint, y))
        return lists

    def __repr__(self) -> str:
        return f"Lists({len(self._lists):,} answers, {sum(map(len, self._lists)):,} states)"

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        return self.rest.fibre(z, y, dropped)

    def start(self, y: Tensor, seed: int) -> Start:
        """A state drawn uniformly from each list; ``rest`` serves answers without a list."""
        number = self._known(y)
        known = number >= 0
        z = torch.zeros(len(y), self.space.sites, dtype=torch.long, device=y.device)
        index, found = self._by_answer(y.device).drawn(number, seed)
        z[found], proved = self.space.states(index), known.clone()
        if not bool(known.all()):
            other = self.rest.start(y[~known], seed)
            z[~known], found[~known], proved[~known] = other.z, other.found, other.proved
        return Start(z, found, proved)

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Whether z is in the list of its answer; the rule decides for answers without a list."""
        outside = negative(self.constraint, y)
        number = self._known(torch.where(outside, ~y, y) if self.constraint.negates else y)
        if bool((number < 0).any()) or len(self._lists) * self.space.size >= 2**63:
            return self.constraint.feasible(z, y)
        by_answer = self._by_answer(z.device)  # states as sorted numbers: the answer's times the size of the space
        count = by_answer.offsets.diff()
        own = torch.arange(len(count), device=z.device).repeat_interleave(count)
        listed = own * self.space.size + by_answer.index(torch.arange(len(own), device=z.device))
        if not len(listed):
            return outside
        wanted = number * self.space.size + self.space.index(z)
        return (listed[torch.searchsorted(listed, wanted).clamp(max=len(listed) - 1)] == wanted) ^ outside

    def set(self, y: Tensor) -> Sets:
        return where(y, y < 0 if self.constraint.negates else None, self._set, self._cubes)

    def _set(self, y: Tensor) -> Listed:
        number = self._number(y)
        by_answer = self._by_answer(y.device)
        return Listed(by_answer.rows(number), by_answer.codes, by_answer.sizes)

    def _stated(self, y: Tensor) -> Stated:
        """The states that a complement excludes."""
        number = self._number(~y)
        by_answer = self._by_answer(y.device)
        return by_answer.index(entries(*by_answer.rows(number).unbind(1))[0]), False

    def _number(self, y: Tensor) -> Tensor:
        """The number of each answer's list; missing lists are made."""
        number = self._known(y)
        if bool((missing := number < 0).any()):
            more = torch.unique(y[missing].cpu(), dim=0)
            listed = some_solutions(self.rest, more)
            for row, (index, whole) in zip(more, listed, strict=True):
                if not whole:
                    raise InverseError(
                        f"Not all states of the answer {self.constraint.answer(row)!r} could be listed: "
                        f"{len(index):,} were found. Use a sampling kernel, or raise the limits."
                    )
            self._numbers |= {key: len(self._lists) + number for number, key in enumerate(keys(more))}
            self._lists += [index for index, _ in listed]
            self._on.clear()
            number = self._known(y)
        return number

    def join(self, other: Lists) -> None:
        """Add the lists of other answers."""
        more = {key: other._lists[number] for key, number in other._numbers.items() if key not in self._numbers}
        self._numbers |= {key: len(self._lists) + number for number, key in enumerate(more)}
        self._lists += more.values()
        self._on.clear()

    def _known(self, y: Tensor) -> Tensor:
        """The number of each answer's list, −1 for none. Rows usually share few answers."""
        flat = y.dim() == 1
        answers, place = torch.unique(y, return_inverse=True, **({} if flat else {"dim": 0}))
        found = [self._numbers.get(key, -1) for key in keys(answers)]
        return torch.tensor(found, dtype=torch.long, device=y.device)[place]

    def _by_answer(self, device: torch.device) -> ByAnswer:
        if device not in self._on:
            self._on[device] = ByAnswer.of(self._lists, self.space.sizes, device)
        return self._on[device]


def some_solutions(inverse: Inverse, y: Tensor) -> list[Found]:
    """For each answer the sorted indices of states of S_y, and whether they are all: a solver may stop early."""
    if isinstance(inverse, Solved):
        return inverse.some_solutions(y)
    found = solutions(inverse, y)
    each = zip(found.offsets[:-1].tolist(), found.offsets[1:].tolist(), strict=True)
    return [(found.index[a:b].cpu(), True) for a, b in each]


def keys(y: Tensor) -> list[Key]:
    """Encoded answers as keys: a tuple for each row."""
    return [tuple(row) for row in (y[:, None] if y.dim() == 1 else y.flatten(1)).tolist()]


def negative(rule: Constraint, y: Tensor) -> Tensor:
    """Which encoded answers are complements."""
    return torch.lt(y, 0) if rule.negates else torch.zeros(len(y), dtype=torch.bool, device=y.device)


def distinct(rule: Constraint, y: Tensor) -> Tensor:
    """The distinct answers to list: for a complement, the answer that it excludes."""
    y = y.cpu()
    found: Tensor = torch.unique(torch.where(y < 0, ~y, y) if rule.negates else y, dim=0)
    return found
