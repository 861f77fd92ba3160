"""Two small runs, one of classes and one of reals, and ways to make a number in them NaN or infinite at a given place.

A fault draws no random numbers. So a run that was hurt, stopped and healed must end as the run that was never hurt.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from softground.constraints import Program
from softground.data import RandomAffine
from softground.experiments import Experiment
from softground.experiments.named import named_recipe
from softground.networks import PerSite
from softground.spaces import Categorical
from softground.task import Task
from softground.tasks import ShortestPaths
from softground.training import Batch, Term

from ._small import DIGITS, IMAGE, SITES, patterns, small_network, small_stages

EPOCHS, BATCHES = 2, 3  # of every stage, of every epoch
TEST = BATCHES  # the evaluation comes after the last batch
PATHS = {"nodes": 5, "train_size": 24, "test_size": 6, "batch_size": 8, "network": "gnn", "steps": 2}
PATHS |= {"epochs": EPOCHS, "zero_epochs": EPOCHS, "learning_rate": 0.01}


def classes() -> Experiment:
    """Digits from their sums: exact marginals, the paper's walk, the guided kernel, Stage II."""
    space = Categorical([range(DIGITS)] * SITES)
    program = Program(lambda *digits: sum(digits), space, vectorised=True)
    torch.manual_seed(0)
    network, stages = PerSite(small_network(), IMAGE), small_stages(space, program, EPOCHS)
    task = Task(space, program)
    return Experiment(task, network, patterns(1, 24), patterns(2, 12), stages, batch_size=8, augment=RandomAffine())


def reals() -> Experiment:
    """Distances from shortest paths: the walk on reals, then the nearest feasible points."""
    first = _paths()
    recipe, _ = named_recipe("sdsp", "paper", **PATHS)
    stages = ShortestPaths().stages(recipe, first.task)
    return replace(first, network=copy.deepcopy(first.network), stages=stages, augment=_as_it_is)


@functools.cache
def _paths() -> Experiment:
    return Experiment.named("sdsp", "paper", **PATHS)


def _as_it_is(x: Tensor, generator: torch.Generator) -> Tensor:
    return x


SUBJECTS: dict[str, Callable[[], Experiment]] = {"classes": classes, "reals": reals}


@dataclass(frozen=True)
class Place:
    """A batch of a run, counted from 0; batch :data:`TEST` is the evaluation."""

    stage: int
    epoch: int
    batch: int


class Clock:
    """An observer that knows where the run is; it interrupts the run before ``stop``."""

    def __init__(self, stop: Place | None = None) -> None:
        self.now = Place(0, 0, 0)
        self.stop = stop

    def __call__(self, event: str, facts: dict[str, Any]) -> None:
        stage, epoch, batch = self.now.stage, self.now.epoch, self.now.batch
        if event == "begin":
            stage, epoch, batch = facts["epochs"] // EPOCHS, facts["epochs"] % EPOCHS, 0
        elif event == "batch":
            batch += 1
        elif event == "epoch":
            epoch, batch = epoch + 1, 0
        elif event == "stage":
            stage, epoch, batch = stage + 1, 0, 0
        self.now = Place(stage, epoch, batch)
        if self.now == self.stop:
            raise KeyboardInterrupt


@dataclass(frozen=True)
class Fault:
    """What goes wrong: a change of inputs, of outputs, of the loss, or the factor on the learning rate."""

    name: str
    x: Callable[[Tensor], Tensor] | None = None
    output: Callable[[Tensor], Tensor] | None = None
    loss: Callable[[Tensor], Tensor] | None = None
    rate: float = 1.0


def _one(value: float) -> Callable[[Tensor], Tensor]:
    """The second row's last number becomes ``value``."""

    def change(tensor: Tensor) -> Tensor:
        flat = tensor.reshape(len(tensor), -1).clone()
        flat[1, -1] = value
        return flat.view(tensor.shape)

    return change


def _first_only(output: Tensor) -> Tensor:
    """3e38 for the first symbol of every site, −3e38 for the others: next to no answer is explained by that."""
    return torch.where(torch.arange(output.shape[-1], device=output.device) == 0, 3e38, -3e38)


AT_ONCE = [  # the very batch must be named
    Fault("NaN in an input", x=_one(math.nan)),
    Fault("infinity in an input", x=_one(math.inf)),
    Fault("NaN in an output", output=_one(math.nan)),
    Fault("infinity in an output", output=_one(math.inf)),
    Fault("outputs of −∞", output=lambda out: out - math.inf),
    Fault("a gradient of NaN", output=lambda out: out + (0 * out).sqrt()),
    Fault("an infinite gradient", output=lambda out: out + (out - out.detach()).sqrt()),
    Fault("a loss of NaN", loss=lambda loss: loss * math.nan),
    Fault("an infinite loss", loss=lambda loss: loss + math.inf),
    Fault("a loss of −∞", loss=lambda loss: loss - math.inf),
    Fault("a loss of 1e25", loss=lambda loss: loss + 1e25),
    Fault("a learning rate of infinity", rate=math.inf),
    Fault("a learning rate of NaN", rate=math.nan),
    Fault("a learning rate times 1e45", rate=1e45),
]
HUGE = Fault("outputs of ±3e38", output=lambda out: 0 * out + _first_only(out))
LARGE_RATE = Fault("a learning rate times 1e30", rate=1e30)  # finite as yet: what follows is not
LARGE_INPUT = Fault("inputs times 1e25", x=lambda x: 1e25 * x)  # normalised to nothing, but their variance is kept


def hurt(experiment: Experiment, clock: Clock, fault: Fault, at: Place | None) -> Experiment:
    """The same, with a fault at one place, or at none."""

    def here(training: bool = True) -> bool:
        return clock.now == at and training == (clock.now.batch < TEST)

    def before(module: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
        return (fault.x(given[0]), *given[1:]) if fault.x and here(module.training) else None

    def after(module: nn.Module, given: Any, output: Tensor) -> Tensor:
        return fault.output(output) if fault.output and here(module.training) else output

    experiment.network.register_forward_pre_hook(before)
    experiment.network.register_forward_hook(after)
    stages = [
        replace(s, terms=[*s.terms, _Hurt(fault, here)], learning_rate=_Rate(fault, clock, at))
        for s in experiment.stages
    ]
    return replace(experiment, stages=stages)


@dataclass
class _Rate:
    """A learning rate that is spoilt at one place."""

    fault: Fault = field(repr=False)
    clock: Clock = field(repr=False)
    at: Place | None = field(repr=False)

    def __call__(self, progress: float) -> float:
        """The factor of a batch, which is asked for when its epoch begins."""
        epoch, batch = divmod(round(progress * EPOCHS * BATCHES), BATCHES)
        return self.fault.rate if Place(self.clock.now.stage, epoch, batch) == self.at else 1.0


@dataclass(frozen=True)
class _Hurt(Term):
    """A term that spoils the loss at one place."""

    fault: Fault = field(repr=False)  # no setting of the run's, so that it resumes when it is healed
    here: Callable[[], bool] = field(repr=False)

    def loss(self, batch: Batch) -> None:
        if self.fault.loss and self.here():
            batch.losses.append(self.fault.loss(batch.belief.log_prob(batch.reading.mode()).sum() * 0.0))
