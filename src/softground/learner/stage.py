"""Stages of training: a teacher, its optimiser and its epochs; and the default stages."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Literal

import torch
from torch import Tensor, nn
from torch.optim import LBFGS, Optimizer

from ..errors import LearnerError, Setting
from ..kernels import Kernel
from ..schedules import Auto, Schedule
from ..task import Family, Shape, Task
from ..training import SoftenedGrounding, ZeroDegree
from ..training.step import Teacher, Term
from .datasets import tasks_of

MakeOptimizer = Callable[[Iterable[nn.Parameter]], Optimizer]
KEPT = ("last", "best", "validation")  # networks that a stage can end with
LARGEST = torch.finfo(torch.float32).max


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


one_cycle = OneCycle
"""See :class:`~softground.learner.OneCycle`."""


@dataclass(frozen=True)
class Stage:
    """A description of one stage of a run. Learners may share it: it holds no task and no data.

    Parameters
    ----------
    name
        A name for reports, such as ``"I"``.
    objective
        The :class:`~softground.training.Teacher` that the network learns from.
    epochs
        Passes over the training set that update the network.
    wait
        Hold γ and the learning rate after a fifth of the epochs, until the network's predictions explain half of the
        training answers, for at most this many additional passes.
    optimizer
        Makes the optimiser from the network's parameters, e.g. ``lambda p: torch.optim.SGD(p, lr=0.1)``.
    learning_rate
        Factor on the optimiser's own rate as a function of progress in 0 … 1; see :func:`one_cycle`.
    keep
        The epoch whose network the stage ends with. ``"last"``; ``"best"``: predictions on the training set were most
        often feasible (the authors' code does this; it uses no label); ``"validation"``: the first of the task's
        metrics was best on the validation part.
    patience
        End the stage after this many epochs without a better validation figure; 0 disables this.
    batch_size
        Examples per gradient step, if different from the learner's.
    terms
        Terms added to the loss, such as :class:`~softground.training.Usage`.
    scaled
        Whether the teacher divides P(z|x) by the network's usage of the symbols (:mod:`softground.training.scaled`).
        None: the learner chooses before training (:mod:`softground.learner.grounding`).
    """

    name: str
    objective: Teacher
    epochs: int
    optimizer: MakeOptimizer
    learning_rate: Callable[[float], float] | None = None
    keep: Literal["last", "best", "validation"] = "last"
    patience: int = 0
    batch_size: int | None = None
    terms: Sequence[Term] = ()
    wait: int = 0
    scaled: bool | None = False

    @property
    def most(self) -> int:
        """The largest number of passes over the training set, waiting included."""
        return self.epochs + self.wait

    def __post_init__(self) -> None:
        for name, least in {"epochs": 1, "wait": 0, "patience": 0, "batch_size": 1}.items():
            value = getattr(self, name)
            if (value is not None or name != "batch_size") and (not isinstance(value, Integral) or value < least):
                given = f"{value!r} epochs" if name == "epochs" else f"{name}={value!r}"
                wanted = "give at least one, or leave it out" if least else "expected 0 or more epochs"
                raise LearnerError(f"Stage {self.name} has {given}; {wanted} (a whole number).")
        _refuse_old_hooks(self)
        if self.scaled not in (True, False, None):
            raise LearnerError(f"Stage {self.name} has scaled={self.scaled!r}; expected True, False or None.")
        if self.keep not in KEPT:
            raise LearnerError.of({"keep": self.keep}, f" for Stage {self.name}; expected one of {', '.join(KEPT)}.")
        rate = self.learning_rate
        if rate is not None and (not callable(rate) or isinstance(rate, type)):
            raise LearnerError.of(
                {"learning_rate": rate},
                f" for Stage {self.name}; expected a function from progress, 0 to 1, to a factor on the optimiser's "
                "own rate, such as one_cycle() (with parentheses).",
            )


def _refuse_old_hooks(stage: Stage) -> None:
    """Refuse teachers and terms that were written for softground 0.3."""
    if not isinstance(stage.objective, Teacher):
        given = type(stage.objective).__name__
        raise LearnerError(
            f"Stage {stage.name} has the objective {given}; expected a softground.training.Teacher. An objective of "
            "softground 0.3 becomes one by renaming begin and loss: see examples/extending/even.py."
        )
    for term in stage.terms:
        if not isinstance(term, Term) or len(inspect.signature(term.loss).parameters) != 1:
            raise LearnerError(
                f"Stage {stage.name} has the term {type(term).__name__}; expected a softground.training.Term whose "
                "hooks take the batch alone. A term of softground 0.3 has loss(task, batch, share): see "
                "examples/extending/confident.py."
            )


Stages = Sequence[Stage] | Callable[[Task], Sequence[Stage]] | Mapping[Shape, Sequence[Stage]]


def whole_number(name: str, value: object, least: int = 1) -> int:
    """Return a setting, checked to be a whole number."""
    if not isinstance(value, Integral) or value < least:
        raise LearnerError.of({name: value}, f"expected a whole number, at least {least}.")
    return int(value)


def refuse_without_validation(stages: Sequence[Stage]) -> None:
    """Refuse stages that need a validation part."""
    for stage in stages:
        if stage.patience or stage.keep == "validation":
            raise LearnerError.of(
                {"patience": stage.patience, "keep": stage.keep},
                f" for Stage {stage.name}, but there is no validation part to judge by. Give one, ",
                Setting("validation"),
                ".",
            )


def stages_by_shape(task: Task | Family, stages: Stages) -> dict[Shape, list[Stage]]:
    """The stages of a task or of every task of a family, by shape; they may differ only in their teachers."""
    tasks = tasks_of(task)
    if isinstance(stages, Mapping):
        made = {shape: list(stages.get(shape, [])) for shape in tasks}
    elif callable(stages):
        made = {shape: list(stages(each)) for shape, each in tasks.items()}
    elif isinstance(task, Task) and isinstance(stages, Sequence):
        made = {None: list(stages)}
    elif isinstance(task, Task):
        raise LearnerError.of({"stages": stages}, "expected a list of stages, such as grounding_stages(task).")
    else:
        raise LearnerError(
            f"A list of stages was given for {task}, whose shapes need teachers of their own. Give a function that "
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
                    "family are trained together, so that only their teachers may differ."
                )
    return made


def make_optimizer(stage: Stage, parameters: Iterable[nn.Parameter]) -> Optimizer:
    """Make the stage's optimiser; an error names the stage."""
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


def lay_out_like_parameters(optimizer: Optimizer) -> None:
    """Store an optimiser's state of each parameter in the parameter's own memory order.

    A fused optimiser needs both in the same order; checkpoints hold plain rows.
    """
    for parameter, known in optimizer.state.items():
        for name, value in known.items():
            if isinstance(value, Tensor) and value.shape == parameter.shape and value.stride() != parameter.stride():
                known[name] = torch.empty_like(parameter, dtype=value.dtype).copy_(value)


def grounding_stages(
    task: Task,
    kernel: Kernel | None = None,
    schedule: Schedule | None = None,
    *,
    epochs: int = 20,
    steps: int = 1,
    optimizer: MakeOptimizer | None = None,
    zero_epochs: int = 0,
    terms: Sequence[Term] = (),
    scaled: bool | None = None,
) -> list[Stage]:
    """Stage I with any kernel and schedule, then ``zero_epochs`` of Stage II; Adam with a one-cycle rate by default.

    By default, Stage I is scaled, and annealed if answers are informative enough (:mod:`softground.learner.grounding`).
    A given schedule is kept. ``scaled=False`` trains plainly at γ = 1.

    The default kernel is exact if the task's inverse knows the distribution on S_y. Otherwise the learner chooses when
    it knows the answers (:mod:`softground.learner.open_choices`). ``terms`` are added to Stage I's loss.
    """
    if isinstance(task, Family):
        raise LearnerError(
            f"{task} was given; every shape needs stages of its own. Give the learner a function: "
            "Learner(family, network, lambda task: grounding_stages(task, …))."
        )
    for name, part, kind in (("kernel", kernel, Kernel), ("schedule", schedule, Schedule)):
        if part is not None and not isinstance(part, kind):
            made = "Exact(task.inverse)" if kind is Kernel else "Constant(0.5)"
            raise LearnerError.of({name: part}, f"expected a {kind.__name__}, such as {made}.")

    def adam(parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.AdamW(parameters, lr=3e-3, fused=True)

    teacher, rate = SoftenedGrounding(kernel, schedule or Auto(), steps), None if optimizer else one_cycle()
    stages = [Stage("I", teacher, epochs, optimizer or adam, rate, terms=terms, scaled=scaled)]
    if zero_epochs:
        stages.append(Stage("II", ZeroDegree(), zero_epochs, lambda p: torch.optim.Adam(p, lr=1e-3, fused=True)))
    return stages
