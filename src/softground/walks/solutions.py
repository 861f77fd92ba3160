r"""The answers that walks are tried on, and for each of them S_y, or some of its members.

Only answers are read. With an exact inverse, the mass of the uniform weight w(z) = 1 is \|S_y\| and its marginals give
the frequency of each symbol at each site. S_y is listed if possible; otherwise solutions are drawn like first states of
chains.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..data.columns import listed
from ..errors import ConstraintError, InfeasibleAnswer, InverseError, LearnerError
from ..inverses import Listing
from ..inverses.base import Inverse, cost, solutions
from ..inverses.lists import distinct
from ..preparing import within
from ..target import Target
from ..task import Task
from .time_limit import TimeLimit

LISTED = 20_000  # most solutions of an answer that are listed
DRAWN = {"tensor": 256, "solver": 32}  # how many are drawn elsewhere, by what an inverse costs
FEW = {"tensor": 16, "solver": 4}  # the same, where time is short
FIRST = 1.0  # seconds in which a first solution is looked for, whatever the limit


@dataclass(frozen=True, eq=False)
class Found:
    """Solutions of one answer: ``z[N, sites]``, all of S_y where ``whole``."""

    answer: Any
    y: Tensor  # [1, …]
    z: Tensor
    whole: bool
    count: float | None = None  # |S_y| where known
    shares: Tensor | None = None  # [sites, K] how often each symbol stands at each site, where known

    def answers(self, rows: int) -> Tensor:
        """The answer as often as asked for."""
        return self.y.expand(rows, *self.y.shape[1:])


@dataclass(frozen=True, eq=False)
class Sample:
    """The answers looked at, of ``of`` that were given; ``whole`` if these are all the different ones."""

    found: tuple[Found, ...]
    of: int
    whole: bool = False

    def rows(self, count: int, seed: int) -> tuple[Tensor, Tensor]:
        """``count`` solutions with their answers, each answer as often as the others: z, y."""
        generator = torch.Generator().manual_seed(seed)
        found = [self.found[row % len(self.found)] for row in range(count)]
        z = [f.z[int(torch.randint(len(f.z), (1,), generator=generator))] for f in found]
        return torch.stack(z), torch.cat([f.y for f in found])

    def pairs(self, count: int) -> tuple[Tensor, Tensor, Tensor] | None:
        """At most ``count`` pairs of different solutions of one answer: from, to, y. None where there are none."""
        several = [f for f in self.found if len(f.z) > 1]
        turns = [(several[row % len(several)], row // len(several)) for row in range(count if several else 0)]
        # From both ends of the list: neighbours in it may be neighbours in S_y.
        pairs = [(f.z[turn], f.z[-1 - turn], f.y[0]) for f, turn in turns if 2 * turn + 1 < len(f.z)]
        if not pairs:
            return None
        first, second, y = (torch.stack(column) for column in zip(*pairs, strict=True))
        return first, second, y


def take(task: Task, answers: Sequence[object] | None, count: int, seed: int, limit: TimeLimit) -> Sample:
    """``count`` distinct answers, drawn from those given, with their solutions; one at least, whatever the limit."""
    given = _from_rule(task, count, seed) if answers is None else listed(answers)
    if not len(given) or count < 1:
        raise LearnerError(
            f"{len(given)} answers and a sample of {count} were given; an inspection needs at least one answer."
        )
    order = torch.randperm(len(given), generator=torch.Generator().manual_seed(seed)).tolist()
    y = task.constraint.encode([given[i] for i in order[: 50 * count]])
    chosen = list(range(len(y)))
    if y.dim() == 1:  # ids: equal answers have equal ids, of which the first is kept
        chosen = sorted({number: row for row, number in reversed(list(enumerate(y.tolist())))}.values())
    found: list[Found] = []
    for row in chosen[:count]:
        if found and not limit.left():
            break
        some = _solutions(task, y[row : row + 1], seed, limit)
        if len(some.z):
            found.append(some)
        elif limit.reached and found:
            break
        elif limit.reached:
            raise LearnerError(
                f"No solution of the answer {some.answer!r} was found in time; this part of an inspection has a "
                "fifth of it. Give it more, seconds=…, or state the rule so that S_y can be listed or summed."
            )
        else:
            raise InfeasibleAnswer(
                f"No symbols were found that explain the answer {some.answer!r}. Correct or remove such "
                "examples; if S_y is not empty, raise the inverse's tries, or use the Z3 inverse.",
                examples=(order[row],),
            )
    whole = answers is not None and y.dim() == 1 and len(y) == len(given) and len(found) == len(chosen)
    return Sample(tuple(found), len(given), whole)


def some(task: Task, answers: Sequence[object], count: int, seed: int, limit: TimeLimit) -> Sample:
    """A few solutions of a few answers, as chains would be started; answers for which none is found are left out."""
    order = torch.randperm(len(answers), generator=torch.Generator().manual_seed(seed)).tolist()
    found: list[Found] = []
    for y in torch.split(distinct(task.constraint, task.constraint.encode([answers[i] for i in order[:count]])), 1):
        z = torch.unique(begun(task.inverse, y, FEW[cost(task.inverse)], seed, limit), dim=0)
        found += [Found(task.constraint.answer(y[0]), y, z, False)] if len(z) else []
        if not limit.left():
            break
    return Sample(tuple(found), len(answers))


def _from_rule(task: Task, count: int, seed: int) -> list[Any]:
    """Answers of random states, for a rule that computes them."""
    rule = task.constraint
    if isinstance(task.inverse, Listing):  # random states would hardly be among those listed
        z = task.inverse.states(torch.device("cpu"))[:1]
    else:
        z = task.space.random(50 * count, torch.Generator().manual_seed(seed))
    try:
        return [answer for answer in rule.compute(z) if answer is not None]
    except ConstraintError as error:
        raise LearnerError(f"No answers were given; give the training answers, answers=train.y. {error}") from error


def begun(inverse: Inverse, y: Tensor, count: int, seed: int, limit: TimeLimit) -> Tensor:
    """Solutions of the answer ``y[1, …]``, as chains would be begun: ``count``, or as many as there is time for."""
    found = []
    for rows in limit.batches(count) if inverse.exact else [slice(0, count)]:  # a search looks at the clock itself
        with within(max(limit.seconds, FIRST)):
            start = inverse.start(y.expand(rows.stop - rows.start, *y.shape[1:]), seed + rows.start)
        found.append(start.z[start.found])
    limit.left()  # which notices where time is up
    return torch.cat(found)


def _solutions(task: Task, y: Tensor, seed: int, limit: TimeLimit) -> Found:
    """Solutions of one encoded answer ``y[1, …]``."""
    inverse, count, shares, z = task.inverse, None, None, None
    if inverse.exact and task.space.categorical:
        law = inverse.law(Target(task.space.uniform(1, y.device), y, 1.0))
        count = float(law.log_mass(quiet=True).exp())
        count = float(round(count)) if count < 2**50 else count  # sums of floats end a little beside
        shares = law.marginals()[0] if count else None
    if task.space.categorical and cost(inverse) == "tensor" and (count is None or count <= LISTED):
        z = _listed(inverse, y)
    if z is not None:
        return Found(task.constraint.answer(y[0]), y, z, True, float(len(z)), shares)
    z = torch.unique(begun(inverse, y, DRAWN[cost(inverse)], seed, limit), dim=0)
    return Found(task.constraint.answer(y[0]), y, z, False, count, shares)


def _listed(inverse: Inverse, y: Tensor) -> Tensor | None:
    """All of S_y, where the inverse can list it."""
    try:
        return inverse.space.states(solutions(inverse, y).index)  # type: ignore[no-any-return]
    except InverseError:
        return None
