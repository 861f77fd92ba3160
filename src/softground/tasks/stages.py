"""The stages of a run, by the name of its objective: the paper's method, or one that it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import torch
from torch import nn

from ..errors import LearnerError
from ..learner.stage import MakeOptimizer, Stage, one_cycle
from ..objectives import MAPO, BackSearch, Objective, Reinforce, SemanticLoss, Supervised, ZeroDegree
from ..task import Task
from .options import RunOptions, adam, make_optimizer
from .preset import Common

# SSL and NA are Stage I at a temperature that does not fall; SSL's may be given.
FIXED = {"ssl": 1.0, "na": 0.001}
# Appendix B.3: the comparison methods descend by Adam at this rate, as in the code published with NGS. NA, a special
# case of the paper's method, keeps its optimiser; so does the semantic loss, which the paper did not run.
PUBLISHED = ("reinforce", "mapo", "ngs", "ssl")
RATE = 5e-4

# A task's Stage I: with its own schedule, or at a γ that is given.
Grounding = Callable[[float | None], Objective]


def make_stages(
    options: RunOptions,
    settings: Common,
    task: Task,
    epochs: int,
    grounding: Grounding,
    zero: Callable[[], Objective] = ZeroDegree,
    keep: Literal["last", "best"] = "last",
) -> list[Stage]:
    """Supervision, a baseline, or Stage I; then, where asked for, Stage II.

    Stage II is part of the paper's method. The others get it only where ``--zero-epochs`` says so (Table 3).
    """
    name = options.objective
    published = name in PUBLISHED
    optimizer = _adam_at(options.learning_rate or RATE) if published else make_optimizer(settings)
    rate = one_cycle() if settings.one_cycle and not published else None
    if name == "sup":
        return [Stage("SUP", Supervised(), epochs, optimizer, rate, keep)]
    second = settings.zero_epochs if name == "grounding" else options.zero_epochs or 0
    if second and options.zero_objective == "ngs":
        _check_symbols(task)
    stages = [Stage("I", _first(options, grounding), epochs, optimizer, rate, keep)]
    if second:
        stages.append(Stage("II", BackSearch() if options.zero_objective == "ngs" else zero(), second, adam))
    return stages


def _first(options: RunOptions, grounding: Grounding) -> Objective:
    """What the network learns from before Stage II."""
    match options.objective:
        case "reinforce":
            return Reinforce()
        case "mapo":
            return MAPO()
        case "ngs":
            return BackSearch(options.steps or BackSearch.steps)
        case "semantic":
            return SemanticLoss()
    fixed = FIXED.get(options.objective)
    if options.objective == "ssl" and options.gamma is not None:
        fixed = options.gamma
    if fixed is not None and options.schedule not in (None, "constant"):
        raise LearnerError(
            f"--schedule {options.schedule} was given with --objective {options.objective}, which holds γ at "
            f"{fixed:g}. Leave the schedule out, or use --objective grounding."
        )
    return grounding(fixed)


def _adam_at(rate: float) -> MakeOptimizer:
    def make(parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.Adam(parameters, lr=rate)

    return make


def _check_symbols(task: Task) -> None:
    """Refuse at once what would otherwise be refused after all of Stage I."""
    if not task.space.categorical:
        raise LearnerError(
            f"--zero-objective ngs was given; back-search corrects one symbol of an alphabet, and {task.space!r} has "
            "none. Leave it out."
        )
