"""The stages that most runs want: the kernel that fits the task, or the one that its inspection recommends."""

from collections.abc import Sequence
from typing import Any

import torch

from ..errors import LearnerError
from ..family import Family
from ..kernels import Kernel
from ..schedules import Constant, Schedule
from ..task import Task
from ..training import SoftenedGrounding, Term, ZeroDegree
from .descent import one_cycle
from .stage import MakeOptimizer, Stage


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
) -> list[Stage]:
    """Stage I with any kernel and schedule, then ``zero_epochs`` of Stage II; Adam with a one-cycle rate by default.

    Without a kernel, it is the exact one where the task's inverse knows the law of S_y; elsewhere the learner chooses,
    once it knows the answers (:mod:`softground.learner.settling`). ``terms`` are added to Stage I's loss.
    """
    if isinstance(task, Family):
        raise LearnerError(
            f"{task} was given; every shape needs stages of its own. Give the learner a function: "
            "Learner(family, network, lambda task: grounding_stages(task, …))."
        )
    for name, part, kind in (("kernel", kernel, Kernel), ("schedule", schedule, Schedule)):
        if part is not None and not isinstance(part, kind):
            made = "Exact(task.inverse)" if kind is Kernel else "Constant(0.5)"
            raise LearnerError(f"{name}={part!r} was given; expected a {kind.__name__}, such as {made}.")

    def adam(parameters: Any) -> torch.optim.Optimizer:
        return torch.optim.AdamW(parameters, lr=3e-3, fused=True)

    objective = SoftenedGrounding(kernel, schedule or Constant(1.0), steps)
    stages = [Stage("I", objective, epochs, optimizer or adam, None if optimizer else one_cycle(), terms=terms)]
    if zero_epochs:
        stages.append(Stage("II", ZeroDegree(), zero_epochs, lambda p: torch.optim.Adam(p, lr=1e-3, fused=True)))
    return stages
