"""What an inspection looks at: some distinct answers, and for each of them S_y, or some of its members.

Only answers are read. Where S_y can be listed (a table, a listing, a scan with few solutions) all of it is; elsewhere
solutions are drawn, in the way that chains would be started.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import torch
from torch import Tensor

from ..constraints.program import NO_ANSWER, Program
from ..errors import InfeasibleAnswer, LearnerError
from ..inverses.base import Inverse
from ..inverses.enumeration import Enumeration
from ..inverses.listing import Listing
from ..inverses.scanned import Scanned
from ..inverses.table import Table
from ..projections.base import Dropped
from ..spaces.categorical import Categorical, CategoricalBelief
from ..target import Target
from ..task import Task
from .limit import Limit

LISTED = 20_000  # most solutions of an answer that are listed
DRAWN = 256  # how many are drawn where they cannot be
DRAWN_SOLVER = 32  # with a solver that takes milliseconds for each


@dataclass(frozen=True, eq=False)
class Found:
    """Solutions of one answer: ``z[N, sites]``, all of S_y where ``whole``; ``count`` is \\|S_y\\| where known."""

    answer: Any
    y: Tensor  # [1, …]
    z: Tensor
    whole: bool
    count: float | None


@dataclass(frozen=True, eq=False)
class Sample:
    """The answers looked at."""

    found: tuple[Found, ...]
    of: int  # how many answers there were to choose from

    @property
    def listed(self) -> tuple[Found, ...]:
        """Those whose S_y is known entirely."""
        return tuple(f for f in self.found if f.whole)

    def rows(self, count: int, seed: int) -> tuple[Tensor, Tensor]:
        """``count`` solutions with their answers, each answer as often as the others: z, y."""
        generator = torch.Generator().manual_seed(seed)
        z, y = [], []
        for row in range(count):
            found = self.found[row % len(self.found)]
            z.append(found.z[int(torch.randint(len(found.z), (1,), generator=generator))])
            y.append(found.y[0])
        return torch.stack(z), torch.stack(y)

    def pairs(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Pairs of different solutions of one answer: from, to, y. There may be fewer than asked for."""
        first, second, y = [], [], []
        several = [f for f in self.found if len(f.z) > 1]
        for row in range(count if several else 0):
            found, turn = several[row % len(several)], row // len(several)
            if 2 * turn + 1 < len(found.z):
                # From both ends of the list: neighbours in it may be neighbours in S_y.
                first.append(found.z[turn])
                second.append(found.z[-1 - turn])
                y.append(found.y[0])
        if not first:
            nothing = self.found[0].z[:0]
            return nothing, nothing, self.found[0].y[:0]
        return torch.stack(first), torch.stack(second), torch.stack(y)


def take(task: Task, answers: Sequence[Any] | None, count: int, seed: int, limit: Limit) -> Sample:
    """``count`` distinct answers, drawn from those given, with their solutions; one at least, whatever the limit."""
    given = _from_rule(task, count, seed) if answers is None else answers
    if not len(given) or count < 1:
        raise LearnerError(
            f"{len(given)} answers and a sample of {count} were given; an inspection needs at least one answer."
        )
    order = torch.randperm(len(given), generator=torch.Generator().manual_seed(seed)).tolist()
    shown = [given[i] for i in order[: 50 * count]]
    y = task.constraint.encode(shown)
    chosen = list(range(len(y)))
    if y.dim() == 1:  # ids: equal answers have equal ids
        first: dict[int, int] = {}
        for row, number in enumerate(y.tolist()):
            first.setdefault(number, row)
        chosen = list(first.values())
    found: list[Found] = []
    for row in chosen[:count]:
        if found and not limit.left():
            break
        z, whole, size = solutions(task.inverse, y[row : row + 1], seed)
        if not len(z):
            raise InfeasibleAnswer(
                f"No symbols were found that explain the answer {task.constraint.answer(y[row])!r}. Correct or remove "
                "such examples; if S_y is not empty, raise the inverse's tries, or use the Z3 inverse.",
                (order[row],),
            )
        found.append(Found(task.constraint.answer(y[row]), y[row : row + 1], z, whole, size))
    return Sample(tuple(found), len(given))


def _from_rule(task: Task, count: int, seed: int) -> list[Any]:
    """Answers of random states, for a rule that computes them."""
    rule, generator = task.constraint, torch.Generator().manual_seed(seed)
    if not isinstance(rule, Program):
        raise LearnerError(
            f"No answers were given, and a {type(rule).__name__} does not compute them; give the training answers, "
            "answers=train.y."
        )
    if isinstance(task.inverse, Listing):  # random states would hardly be among those listed
        z = task.inverse.states(torch.device("cpu"))[:1]
        return [rule.answer(rule.answer_ids(z)[0])]
    sizes = torch.tensor(task.space.sizes)
    z = (torch.rand(50 * count, task.space.sites, generator=generator, dtype=torch.float64) * sizes).long()
    ids = rule.answer_ids(z)
    return [rule.answer(i) for i in ids[ids != NO_ANSWER]]


@singledispatch
def solutions(inverse: Any, y: Tensor, seed: int) -> tuple[Tensor, bool, float | None]:
    """Solutions of one encoded answer ``y[1, …]``, whether they are all, and \\|S_y\\| where known."""
    return _drawn(inverse, y, seed), False, None


@solutions.register
def _(inverse: Table, y: Tensor, seed: int) -> tuple[Tensor, bool, float | None]:
    return _listed(inverse, inverse.space, y, seed)


@solutions.register
def _(inverse: Listing, y: Tensor, seed: int) -> tuple[Tensor, bool, float | None]:
    return _listed(inverse, inverse.space, y, seed)


@solutions.register
def _(inverse: Enumeration, y: Tensor, seed: int) -> tuple[Tensor, bool, float | None]:
    if inverse.space.size <= inverse.cap:
        return _listed(inverse, inverse.space, y, seed)
    return _drawn(inverse, y, seed), False, None


@solutions.register
def _(inverse: Scanned, y: Tensor, seed: int) -> tuple[Tensor, bool, float | None]:
    count = float(inverse.law(Target(uniform(inverse.space, 1), y, 1.0)).log_mass().exp())
    if count > LISTED:
        return _drawn(inverse, y, seed), False, count
    everything = torch.arange(inverse.space.sites)[None]
    fibre = inverse.fibre(torch.zeros_like(everything), y, Dropped(everything))
    return fibre.values[0][fibre.mask[0]], bool(fibre.complete.all()), float(round(count))


def uniform(space: Categorical, rows: int) -> CategoricalBelief:
    """Weight 1 for every state, so that sums over S_y count it."""
    allowed = space.layout(torch.device("cpu")).allowed
    scores = torch.where(allowed, 0.0, -torch.inf).double()
    return CategoricalBelief(space, scores.expand(rows, -1, -1))


def slow(inverse: Inverse) -> bool:
    """Whether fibres come from an external solver, which takes milliseconds for each."""
    return inverse.cost == "solver" or inverse.solver_seconds > 0


def _drawn(inverse: Inverse, y: Tensor, seed: int) -> Tensor:
    """Some solutions, each once, as chains would be started."""
    rows = DRAWN_SOLVER if slow(inverse) else DRAWN
    start = inverse.start(y.expand(rows, *y.shape[1:]), seed)
    once: Tensor = torch.unique(start.z[start.found], dim=0)
    return once


def _listed(inverse: Inverse, space: Categorical, y: Tensor, seed: int) -> tuple[Tensor, bool, float | None]:
    index = inverse.solutions(y).index
    if len(index) <= LISTED:
        return space.states(index), True, float(len(index))
    some = torch.randperm(len(index), generator=torch.Generator().manual_seed(seed))[:LISTED]
    return space.states(index[some].sort().values), False, float(len(index))
