"""A rule whose queries are hurt where they are solved, a training run that needs them, and what it must come to."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from softground.constraints.program import Program
from softground.constraints.smt import SMT, load_z3
from softground.data import Examples
from softground.inverses.base import Fibre, Solving, Start
from softground.inverses.z3 import Z3
from softground.kernels import Uniform
from softground.learner import Learner, Stage
from softground.projections import ChangeOne, Dropped, RandomDrop
from softground.schedules import Exponential
from softground.spaces import Categorical
from softground.task import Task
from softground.training import SoftenedGrounding

DIGITS, SITES = 5, 3
SPARE = 2.0  # seconds beyond its limit that a hung worker may cost


def undecided(z: list[Any], y: Any) -> list[Any]:
    """What Z3 does not know within any limit here: whether 114 is a sum of three cubes."""
    z3 = load_z3()
    a, b, c = z3.Ints("a b c")
    return z3.Or(total(z, y), a * a * a + b * b * b + c * c * c == 114)


def total(z: list[Any], y: Any) -> Any:
    """a + b · c = y, the rule itself."""
    return z[0] + z[1] * z[2] == y


def sleep(z: list[Any], y: Any) -> Any:
    """Z3's own limits do not reach this."""
    time.sleep(3600)


def stop(z: list[Any], y: Any) -> Any:
    """Stop the process, as a debugger or a batch system does."""
    os.kill(os.getpid(), signal.SIGSTOP)


def die(z: list[Any], y: Any) -> Any:
    """Kill the process, as the system does when memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)


def devour(z: list[Any], y: Any) -> Any:
    """Ask for more than any limit here allows; without a limit, give it back."""
    bytearray(2**32)
    return total(z, y)


def blow_up(z: list[Any], y: Any) -> Any:
    """Fill Z3's memory: a product of long numbers, gate by gate."""
    z3 = load_z3()
    a, b = z3.BitVecs("long.a long.b", 1024)
    return [z3.Or(total(z, y), a * b == 2**1023 + 3**300, a == b), z3.ULT(a, b)]


WAYS: dict[str, Callable[[list[Any], Any], Any]] = {
    f.__name__: f for f in (undecided, sleep, stop, die, devour, blow_up)
}
COUNTED = {
    "undecided": "unknowns",
    "sleep": "timeouts",
    "stop": "timeouts",
    "die": "crashes",
    "devour": "memouts",
    "blow_up": "memouts",
}


@dataclass(frozen=True)
class Faulty:
    """The rule as a formula; a share of its queries goes wrong, always the same ones, and each leaves a line in a log.

    A search for a first state goes wrong at its first attempt only, since without a state there is no chain at all.
    ``spared`` is a process in which nothing goes wrong.
    """

    way: str
    share: float
    seed: int
    log: str
    spared: int = 0

    def __call__(self, z: list[Any], y: Any) -> Any:
        z3 = load_z3()
        known = [str(e) if z3.is_int_value(e) else "?" for e in z]
        name = f"{y} {' '.join(known)}"
        if os.getpid() == self.spared or random.Random(f"{self.seed} {name}").random() >= self.share:
            return total(z, y)
        if known.count("?") > 1 and name in Path(self.log).read_text().splitlines():
            return total(z, y)
        with open(self.log, "a") as log:
            log.write(f"{name}\n")
        return WAYS[self.way](z, y)

    def hurt(self) -> set[str]:
        """The queries that went wrong."""
        return set(Path(self.log).read_text().splitlines())


@dataclass
class Watched(Solving):
    """An inverse that is timed, and that may be struck from outside during its calls; first states by another one."""

    inner: Z3
    starter: Z3
    strike: Callable[[int], None] = lambda call: None
    calls: list[tuple[float, int]] = field(default_factory=list)  # seconds, and faults that cost time

    def __post_init__(self) -> None:
        self.space, self.constraint = self.inner.space, self.inner.constraint

    @property
    def solver_seconds(self) -> float:  # type: ignore[override]
        return self.inner.solver_seconds

    @property
    def faults(self) -> dict[str, int]:
        return self.inner.faults

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        return self._timed(lambda: self.inner.fibre(z, y, dropped))

    def start(self, y: Tensor, seed: int) -> Start:
        return self._timed(lambda: self.starter.start(y, seed))

    def _timed(self, ask: Callable[[], Any]) -> Any:
        before, began = self._delays(), time.monotonic()
        self.strike(len(self.calls))
        answer = ask()
        self.calls.append((time.monotonic() - began, self._delays() - before))
        return answer

    def _delays(self) -> int:
        return self.faults["timeouts"]

    def delay(self) -> float:
        """The most seconds that a hung worker cost beyond its limit."""
        limit = self.inner.limits.limit
        return max((seconds - hung * limit for seconds, hung in self.calls if hung), default=0.0)


def rule() -> Program:
    """The rule as a program, by which states are checked."""
    space = Categorical([range(DIGITS)] * SITES)
    return Program(lambda a, b, c: a + b * c, space, vectorised=True)


def train(inverse: Any, program: Program, seed: int, count: int = 16, epochs: int = 2, out: Path | None = None) -> Any:
    """A short training run through the inverse; raises unless every chain is there and feasible at its end."""
    space = program.space
    chance = torch.Generator().manual_seed(seed)
    digits = torch.randint(DIGITS, (count, SITES), generator=chance)
    x = nn.functional.one_hot(digits, DIGITS).float() + 0.2 * torch.randn(count, SITES, DIGITS, generator=chance)
    data = Examples(x, (digits[:, 0] + digits[:, 1] * digits[:, 2]).tolist(), digits)
    torch.manual_seed(seed)
    objective = SoftenedGrounding(Uniform(inverse, RandomDrop(space, 1), ChangeOne(space)), Exponential(1.0, 0.7), 2)
    task = Task(space, program, inverse)
    learner = Learner(task, nn.Linear(DIGITS, DIGITS), [Stage("I", objective, epochs, _adam)], batch_size=16, seed=seed)
    learner.fit(data, out=out)
    chains = learner.loop.parts[0].memory[0]["chains"]
    assert chains.shape == (count, SITES), f"{len(chains)} chains for {count} examples"
    lost = int((~program.feasible(chains, program.encode(data.y))).sum())
    assert not lost, f"{lost} of {count} chains are infeasible"
    faults = {name: n for name, n in inverse.faults.items() if n}
    told = {name.removeprefix("solver_"): n for name, n in learner.history_[-1].items() if name.startswith("solver_")}
    assert told == faults, f"the records say {told}, the inverse {faults}"
    return learner


def faulty_inverse(program: Program, formula: Faulty, **settings: Any) -> Z3:
    """The Z3 inverse of a rule that goes wrong."""
    Path(formula.log).touch()
    return Z3(SMT(formula, program.space, answers=program), **settings)


def _adam(parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.Adam(parameters, lr=0.01)
