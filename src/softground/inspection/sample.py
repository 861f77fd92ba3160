r"""What an inspection looks at: some distinct answers, and for each of them S_y, or some of its members.

Only answers are read. Where the inverse knows the law of S_y, the mass of the uniform weight w(z) = 1 is \|S_y\| and
its marginals say how often each symbol stands at each site. Where S_y can be listed all of it is; elsewhere solutions
are drawn, in the way that chains would be started.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..constraints.program import NO_ANSWER, Program
from ..errors import InfeasibleAnswer, LearnerError
from ..inverses.base import Inverse, SolvingInverse
from ..inverses.enumeration import Enumeration
from ..inverses.listing import Listing
from ..inverses.scanned import Scanned
from ..kernels.exact_scan import scan_marginals
from ..spaces.categorical import Categorical, CategoricalBelief
from ..task import Task
from .time_limit import TimeLimit

LISTED = 20_000  # most solutions of an answer that are listed
DRAWN = 256  # how many are drawn where they cannot be
DRAWN_SOLVER = 32  # with a solver that takes milliseconds for each


@dataclass(frozen=True, eq=False)
class Found:
    """Solutions of one answer: ``z[N, sites]``, all of S_y where ``whole``."""

    answer: Any
    y: Tensor  # [1, …]
    z: Tensor
    whole: bool
    count: float | None = None  # |S_y| where known
    shares: Tensor | None = None  # [sites, K] how often each symbol stands at each site, where known


@dataclass(frozen=True, eq=False)
class Sample:
    """The answers looked at, of ``of`` that were given."""

    found: tuple[Found, ...]
    of: int

    @property
    def listed(self) -> tuple[Found, ...]:
        """Those whose S_y is known entirely."""
        return tuple(f for f in self.found if f.whole)

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


def take(task: Task, answers: Sequence[Any] | None, count: int, seed: int, limit: TimeLimit) -> Sample:
    """``count`` distinct answers, drawn from those given, with their solutions; one at least, whatever the limit."""
    given = _from_rule(task, count, seed) if answers is None else answers
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
        found.append(solutions(task, y[row : row + 1], seed))
        if not len(found[-1].z):
            raise InfeasibleAnswer(
                f"No symbols were found that explain the answer {found[-1].answer!r}. Correct or remove such "
                "examples; if S_y is not empty, raise the inverse's tries, or use the Z3 inverse.",
                (order[row],),
            )
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
    else:
        z = random_states(task.space, 50 * count, generator)
    ids = rule.answer_ids(z)
    return [rule.answer(i) for i in ids[ids != NO_ANSWER]]


def random_states(space: Categorical, rows: int, generator: torch.Generator) -> Tensor:
    """States drawn uniformly."""
    uniform = torch.rand(rows, space.sites, generator=generator, dtype=torch.float64)
    return (uniform * torch.tensor(space.sizes)).long()


def solutions(task: Task, y: Tensor, seed: int) -> Found:
    """Solutions of one encoded answer ``y[1, …]``."""
    inverse, answer = task.inverse, task.constraint.answer(y[0])
    if isinstance(inverse, Scanned):
        belief = uniform(inverse.space, 1)
        count = float(inverse.log_partition(belief, y).exp())
        shares = scan_marginals(inverse.scan, belief, y)[0]
        if count > LISTED:
            return Found(answer, y, _drawn(inverse, y, seed), False, count, shares)
        everything = torch.arange(inverse.space.sites)[None]
        fibre = inverse.fibre(torch.zeros_like(everything), y, everything)
        return Found(answer, y, fibre.values[0][fibre.mask[0]], bool(fibre.complete.all()), float(round(count)), shares)
    small = not isinstance(inverse, Enumeration) or inverse.space.size <= inverse.cap
    if isinstance(inverse, SolvingInverse) and small:
        index = inverse.solutions(y).index
        some = torch.randperm(len(index), generator=torch.Generator().manual_seed(seed))[:LISTED]
        states = task.space.states(index)
        often = torch.nn.functional.one_hot(states, task.space.width).double().sum(0) / max(1, len(index))
        return Found(answer, y, states[some.sort().values], len(index) <= LISTED, float(len(index)), often)
    return Found(answer, y, _drawn(inverse, y, seed), False)


def uniform(space: Categorical, rows: int) -> CategoricalBelief:
    """Weight 1 for every state, so that sums over S_y count it."""
    allowed = space.layout(torch.device("cpu")).allowed
    scores = torch.where(allowed, 0.0, -torch.inf).double()
    return CategoricalBelief(space, scores.expand(rows, -1, -1))


def slow(inverse: Inverse) -> bool:
    """Whether fibres come from an external solver, which takes milliseconds for each."""
    return inverse.solver_seconds > 0 or type(inverse).__name__.startswith("Z3")


def _drawn(inverse: Inverse, y: Tensor, seed: int) -> Tensor:
    """Some solutions, each once, as chains would be started."""
    rows = DRAWN_SOLVER if slow(inverse) else DRAWN
    start = inverse.start(y.expand(rows, *y.shape[1:]), seed)
    once: Tensor = torch.unique(start.z[start.found], dim=0)
    return once
