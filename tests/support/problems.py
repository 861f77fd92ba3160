"""Small problems whose Q* can be written down: asymmetric beliefs, mixed alphabets, disconnected S_y."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from softground.constraints import Program
from softground.inverses import Enumeration, Table
from softground.spaces import Categorical, CategoricalBelief
from softground.spaces.categorical import Readings
from softground.target import Target
from softground.task import Task


@dataclass(frozen=True)
class Problem:
    name: str
    space: Categorical
    program: Program
    answer: Any
    drops: tuple[tuple[int, ...], ...]  # projections that connect S_y

    @property
    def states(self) -> Tensor:
        everything = self.space.states(torch.arange(self.space.size))
        y = self.program.encode([self.answer]).expand(len(everything))
        return everything[self.program.feasible(everything, y)]

    @property
    def readings(self) -> tuple[Tensor, Tensor]:
        """All that a network can read, states or not, and whether it is feasible."""
        codes = len(self.space.symbols)
        sizes = [codes] * self.space.sites if self.space.readings == "all" else self.space.sizes
        z = torch.cartesian_prod(*map(torch.arange, sizes))
        task = Task(self.space, self.program, self.table)
        return z, task.feasible(z, self.program.encode([self.answer]).expand(len(z)))

    @property
    def table(self) -> Table:
        return Table(self.program)

    @property
    def ragged(self) -> Table:
        return Table(self.program, _padded=False)

    @property
    def padded(self) -> Table:
        return Table(self.program, _padded=True)

    @property
    def enumeration(self) -> Enumeration:
        return Enumeration(self.space, self.program)

    def belief(self, batch: int, seed: int = 0) -> CategoricalBelief:
        """A lopsided belief, the same for every chain: symmetric targets hide sign errors."""
        generator = torch.Generator().manual_seed(seed)
        shape = (1, self.space.sites, self.space.outputs)
        output = 1.5 * torch.randn(shape, generator=generator, dtype=torch.float64)
        return self.space.belief(output.expand(batch, -1, -1))

    def target(self, batch: int, gamma: float) -> Target[CategoricalBelief]:
        return Target.at(self.belief(batch), self.program.encode([self.answer]).expand(batch), gamma)

    def law(self, gamma: float) -> Tensor:
        """Q* on ``states``, by brute force in double precision."""
        states = self.states
        log_p = self.belief(len(states)).log_prob(states)
        return (torch.zeros_like(log_p) if gamma == float("inf") else log_p / gamma).softmax(0)


def small_sum() -> Problem:
    space = Categorical([range(4)] * 3)
    return Problem("sum", space, Program(lambda a, b, c: a + b + c, space, vectorised=True), 5, ((0,), (1,), (2,)))


def _formula(readings: Readings = "grammatical") -> Problem:
    space = Categorical([(1, 2, 3, 4), "+-*", (1, 2, 3, 4)], readings=readings)

    def value(a: int, op: str, b: int) -> int:
        return a + b if op == "+" else a - b if op == "-" else a * b

    return Problem(
        "formula" if readings == "grammatical" else "formula, all readings",
        space,
        Program(value, space),
        4,
        ((0, 2), (0, 1), (1, 2)),
    )


def _all_equal() -> Problem:
    # Three isolated points: every single-site change is infeasible.
    space = Categorical([range(3)] * 3)
    return Problem("all equal", space, Program(lambda a, b, c: a == b == c, space), True, ((0, 1), (1, 2), (0, 2)))


def _uneven() -> Problem:
    # Fibres of very different sizes, and alphabets of different sizes: the paper's ratio is far off here.
    space = Categorical([range(3), range(2), range(4)])
    return Problem("uneven", space, Program(lambda a, b, c: a * c * (1 + b), space), 0, ((0, 2), (1, 2)))


PROBLEMS = (small_sum(), _formula(), _all_equal(), _uneven(), _formula("all"))
