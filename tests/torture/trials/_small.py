"""A run of a second with all that has a memory, as a task that the command line can train and resume.

Four stages: exact marginals with the best network kept, the paper's walk, the guided kernel, Stage II. The optimisers
remember gradients, the network drops out and normalises, images are distorted; a report is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn

from softground.constraints import Program
from softground.data import Examples
from softground.data.examples import Split
from softground.dice import stream
from softground.experiments import Problem, Recipe
from softground.inverses import Enumeration, Table
from softground.kernels import Exact, Guided, Kernel, Metropolis
from softground.learner import Stage, one_cycle
from softground.networks import PerSite
from softground.projections import ChangeOne, RandomDrop
from softground.schedules import Exponential
from softground.spaces import Categorical
from softground.task import Task
from softground.training import SoftenedGrounding, ZeroDegree

SITES, DIGITS, IMAGE = 3, 4, (1, 6, 6)
EXAMPLES = {"train": 96, "test": 32}


@dataclass(frozen=True, kw_only=True)
class Small(Problem):
    """Sums of three digits 0 … 3, each drawn as a noisy pattern."""

    name: ClassVar[str] = "small"

    def load(self, seed: int) -> Split:
        """Patterns made by a generator."""
        train, test = (patterns(stream(seed, part), count) for part, count in EXAMPLES.items())
        return Split(train, test, "Patterns made by a generator.")

    def task(self, inverse: str = "auto", **solver: Any) -> Task:
        """Digits and their sum."""
        space = Categorical([range(DIGITS)] * SITES)
        return Task(space, Program(lambda *digits: sum(digits), space, vectorised=True), name=self.name)

    def preset(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Three epochs of every stage."""
        return {"epochs": 3, "batch_size": 16, "augment": True}

    def network(self, recipe: Recipe, x: Tensor, space: Any) -> nn.Module:
        """A network with buffers and dropout."""
        return PerSite(small_network(), IMAGE)

    def stages(self, recipe: Recipe, task: Task, answers: Any = None) -> list[Stage]:
        """All ways to ground."""
        return small_stages(task.space, cast(Program, task.constraint), recipe.epochs)


def small_network() -> nn.Module:
    """One small classifier with buffers and dropout."""
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(64, DIGITS)
    )


def patterns(seed: int, count: int) -> Examples:
    """Images ``[count, sites, 1, 6, 6]`` of digits, with their sums."""
    shapes = torch.rand(DIGITS, *IMAGE, generator=torch.Generator().manual_seed(0))
    chance = torch.Generator().manual_seed(seed)
    digits = torch.randint(DIGITS, (count, SITES), generator=chance)
    x = shapes[digits] + 0.2 * torch.randn(count, SITES, *IMAGE, generator=chance)
    return Examples(x, digits.sum(1).tolist(), digits)


def small_stages(space: Categorical, program: Program, epochs: int) -> list[Stage]:
    """A stage for each way to ground, ending with Stage II."""
    table, listed = Table(program), Enumeration(space, program)
    drop, move = RandomDrop(space, 1), ChangeOne(space)

    def grounding(kernel: Kernel, steps: int) -> SoftenedGrounding:
        return SoftenedGrounding(kernel, Exponential(1.0, 0.7, warmup=1), steps)

    return [
        Stage("exact", grounding(Exact(table), 1), epochs, _adam(0.01), one_cycle(), keep="best"),
        Stage("walk", grounding(Metropolis(listed, drop, move), 3), epochs, _momentum),
        Stage("guided", grounding(Guided(table, drop, marginals=False), 2), epochs, _adam(0.005), keep="best"),
        Stage("II", ZeroDegree(), epochs, _adam(0.001)),
    ]


def _adam(rate: float) -> Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]:
    return lambda parameters: torch.optim.Adam(parameters, lr=rate)


def _momentum(parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9)
