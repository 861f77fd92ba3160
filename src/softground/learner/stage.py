"""A stage of training: an objective with its optimiser and its number of passes over the data."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.optim import LBFGS, Optimizer

from ..errors import LearnerError, NonFiniteOutput
from ..family import Family
from ..objectives.base import Objective
from ..objectives.term import Term
from ..task import Task
from .parts import tasks_of

MakeOptimizer = Callable[[Iterable[nn.Parameter]], Optimizer]
KEPT = ("last", "best", "validation")  # which network a stage may end with
LARGEST = torch.finfo(torch.float32).max


@dataclass(frozen=True)
class Stage:
    """One stage of a run.

    Parameters
    ----------
    name
        Shown in reports, such as ``"I"``.
    objective
        The loss.
    epochs
        Passes over the training set that update the network.
    wait
        As many passes more, at most: after a fifth of the epochs, when the learning rate has risen, γ and the learning
        rate stand still until the network's own readings explain half of the training answers.
    optimizer
        Makes the optimiser from the network's parameters, e.g. ``lambda p: torch.optim.SGD(p, lr=0.1)``.
    learning_rate
        Factor on the optimiser's own rate as a function of progress in 0 … 1; see :func:`one_cycle`.
    keep
        ``"last"``, or ``"best"``: end with the network of the epoch whose predictions on the training set were most
        often feasible (as the authors' code does; no label is looked at). ``"validation"``: with the network of the
        evaluated epoch whose validation figure, the first one of the task's metrics, was best.
    patience
        End the stage after so many epochs without a better validation figure; 0: never.
    batch_size
        Examples per gradient step, where not the learner's.
    terms
        What is added to the objective's loss, such as :class:`~softground.objectives.Usage`.
    """

    name: str
    objective: Objective
    epochs: int
    optimizer: MakeOptimizer
    learning_rate: Callable[[float], float] | None = None
    keep: Literal["last", "best", "validation"] = "last"
    patience: int = 0
    batch_size: int | None = None
    terms: Sequence[Term] = ()
    wait: int = 0

    @property
    def most(self) -> int:
        """Passes over the training set, with those that it may wait."""
        return self.epochs + self.wait

    def __post_init__(self) -> None:
        for name, least in {"epochs": 1, "wait": 0, "patience": 0, "batch_size": 1}.items():
            value = getattr(self, name)
            if (value is not None or name != "batch_size") and (not isinstance(value, Integral) or value < least):
                given = f"{value!r} epochs" if name == "epochs" else f"{name}={value!r}"
                wanted = "give at least one, or leave it out" if least else "expected 0 or more epochs"
                raise LearnerError(f"Stage {self.name} has {given}; {wanted} (a whole number).")
        if self.keep not in KEPT:
            raise LearnerError(f"Stage {self.name} has keep={self.keep!r}; expected one of {', '.join(KEPT)}.")
        rate = self.learning_rate
        if rate is not None and (not callable(rate) or isinstance(rate, type)):
            raise LearnerError(
                f"Stage {self.name} has learning_rate={rate!r}; expected a function from progress, 0 to 1, to a factor "
                "on the optimiser's own rate, such as one_cycle() (with its brackets)."
            )


@dataclass(frozen=True)
class OneCycle:
    """Rise linearly over the first ``warm`` share of the stage, then fall along a cosine to ``end``.

    >>> rate = OneCycle(warm=0.25, end=0.0)
    >>> [round(rate(p), 3) for p in (0.0, 0.125, 0.25, 0.625, 1.0)]
    [0.04, 0.52, 1.0, 0.5, 0.0]
    """

    warm: float = 0.2
    end: float = 0.01

    def __call__(self, progress: float) -> float:
        """The factor on the optimiser's own rate."""
        if progress < self.warm:
            return 0.04 + 0.96 * progress / self.warm
        angle = math.pi * (progress - self.warm) / (1 - self.warm)
        return self.end + (1 - self.end) * (1 + math.cos(angle)) / 2


Stages = Sequence[Stage] | Callable[[Task], Sequence[Stage]] | Mapping[Any, Sequence[Stage]]
one_cycle = OneCycle
"""See :class:`~softground.learner.OneCycle`."""


def whole(name: str, value: Any, least: int = 1) -> int:
    """A setting that is a whole number."""
    if not isinstance(value, Integral) or value < least:
        raise LearnerError(f"{name}={value!r} was given; expected a whole number, at least {least}.")
    return int(value)


def refuse_judging(stages: Sequence[Stage]) -> None:
    """Refuse stages that a validation part decides about, where there is none."""
    for stage in stages:
        if stage.patience or stage.keep == "validation":
            raise LearnerError(
                f"Stage {stage.name} has patience={stage.patience} and keep={stage.keep!r}, but there is no validation "
                "part to judge by. Give one: fit(…, validation=…), or --validation 0.1."
            )


def staged(task: Task | Family, stages: Stages) -> dict[Any, list[Stage]]:
    """The stages of a task or of every task of a family, by shape; they may differ in their objectives alone."""
    tasks = tasks_of(task)
    if isinstance(stages, Mapping):
        made = {shape: list(stages.get(shape, [])) for shape in tasks}
    elif callable(stages):
        made = {shape: list(stages(each)) for shape, each in tasks.items()}
    elif isinstance(task, Task) and isinstance(stages, Sequence):
        made = {None: list(stages)}
    elif isinstance(task, Task):
        raise LearnerError(f"stages={stages!r} was given; expected a list of stages, such as grounding_stages(task).")
    else:
        raise LearnerError(
            f"A list of stages was given for {task}, whose shapes need objectives of their own. Give a function that "
            "makes the stages of a task: Learner(family, network, lambda task: grounding_stages(task))."
        )
    first = next(iter(made.values()))
    names = [stage.name for stage in first]
    if not names or len(set(names)) != len(names):
        raise LearnerError(f"Stages {names} were given; expected at least one, with distinct names.")
    for shape, other in made.items():
        for name in ("name", "epochs", "keep", "patience", "batch_size"):
            one, two = ([getattr(stage, name) for stage in each] for each in (first, other))
            if one != two:
                raise LearnerError(
                    f"The stages of shape {shape!r} have {name} {two}, those of another shape {one}; the shapes of a "
                    "family are trained together, so that only objectives may differ."
                )
    if len(tasks) > 1 and len({id(each[0].objective) for each in made.values()}) < len(tasks):
        raise LearnerError("Shapes of a family share an objective; make one for each, since it remembers its examples.")
    return made


def make_optimizer(stage: Stage, parameters: Iterable[nn.Parameter]) -> Optimizer:
    """The stage's optimiser, or a message that says which stage's could not be made."""
    try:
        optimizer = stage.optimizer(parameters)
    except (TypeError, ValueError) as error:
        raise LearnerError(f"Stage {stage.name}'s optimiser cannot be made: {error}. Correct its settings.") from error
    if not isinstance(optimizer, Optimizer) or isinstance(optimizer, LBFGS):
        raise LearnerError(
            f"Stage {stage.name}'s optimiser is {type(optimizer).__name__}; expected a torch optimiser that takes one "
            "gradient per step, such as SGD or Adam (LBFGS evaluates the loss again, which would move the chains)."
        )
    for group in optimizer.param_groups:
        if not abs(float(group["lr"])) <= LARGEST:
            raise LearnerError(f"Stage {stage.name}'s learning rate is {float(group['lr'])}; expected a finite number.")
    return optimizer


def set_learning_rate(optimizer: Any, base: list[float], factor: float) -> None:
    """Scale each parameter group's own rate."""
    for group, rate in zip(optimizer.param_groups, base, strict=True):
        if not abs(rate * factor) <= LARGEST:
            raise NonFiniteOutput(
                f"Its learning rate is {float(rate):g} times {factor:g}; expected a finite number. Correct the factor, "
                "which is the stage's learning_rate."
            )
        group["lr"] = rate * factor


def lay_out_like_parameters(optimizer: Any) -> None:
    """Store what an optimiser remembers of each parameter in the parameter's own memory order.

    A checkpoint holds plain rows. A fused optimiser walks through parameter and memory side by side, and takes for
    granted that they are stored alike.
    """
    for parameter, known in optimizer.state.items():
        for name, value in known.items():
            if isinstance(value, Tensor) and value.shape == parameter.shape and value.stride() != parameter.stride():
                known[name] = torch.empty_like(parameter, dtype=value.dtype).copy_(value)
