"""Options that every task's command has, and what is made of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
from torch import nn

from ..errors import LearnerError
from ..learner.stage import MakeOptimizer
from .experiment import Device
from .preset import Common, ScheduleName

ObjectiveName = Literal["grounding", "sup", "reinforce", "mapo", "ngs", "semantic", "ssl", "na"]
WHOLE = 2**63
COLD = 0.02  # where γ stops falling, unless a preset says otherwise


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What to train, for how long, where."""

    preset: Literal["paper", "best"] = "best"
    """paper: the paper's setting; best: what we recommend. The other options override single parts of it."""
    objective: ObjectiveName = "grounding"
    """grounding: the paper's method; sup: with labels, as a yardstick; reinforce, mapo, ngs (back-search), semantic
    (the semantic loss), ssl (γ stays at --gamma, else 1) and na (γ = 0.001): what the paper compares it with."""
    schedule: ScheduleName | None = None
    """How γ falls."""
    gamma: float | None = None
    """γ₀, the first temperature."""
    floor: float | None = None
    """Where γ stops falling."""
    epochs: int | None = None
    """Epochs of Stage I."""
    zero_epochs: int | None = None
    """Epochs of Stage II (γ = 0)."""
    zero_objective: Literal["zero", "ngs"] = "zero"
    """Stage II learns from feasible predictions (zero), or from back-search's corrections (ngs)."""
    steps: int | None = None
    """T, kernel steps per gradient step; with --objective ngs, steps of back-search."""
    batch_size: int | None = None
    """Examples per gradient step."""
    optimizer: Literal["sgd", "adamw"] | None = None
    """Stage I's optimiser; reinforce, mapo, ngs and ssl have their own."""
    learning_rate: float | None = None
    """Stage I's learning rate."""
    seed: int = 0
    """Decides every draw."""
    device: Device = "auto"
    """Where to train; auto takes a GPU if there is one."""
    deterministic: bool = False
    """On a GPU: algorithms that give the same bits each time (slower; torch warns if it has none). CPUs always do."""
    evaluate_every: int = 1
    """Epochs between evaluations on the test set."""
    out: Path | None = None
    """The run folder (default: a new one under runs/)."""
    quiet: bool = False
    """No progress display."""
    json: bool = False
    """Print the summary as one JSON object, and nothing else."""
    tensorboard: bool = False
    """Log every epoch for TensorBoard, into the run folder (needs the extra tensorboard)."""

    def __post_init__(self) -> None:
        """Refuse numbers that no tensor could hold, before anything is made of them."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int) and abs(value) >= WHOLE:
                given = f"{str(value)[:20]}…" if len(str(value)) > 20 else value
                raise LearnerError(f"--{field.name.replace('_', '-')} {given} was given; whole numbers stay below 2⁶³.")


P = TypeVar("P", bound=Any)  # a task's frozen dataclass of hyper-parameters


def overridden(preset: P, options: RunOptions) -> P:
    """The preset with every part that was given on the command line in its place."""
    given = {f.name: getattr(options, f.name, None) for f in fields(preset)}
    settings = replace(preset, **{name: value for name, value in given.items() if value is not None})
    if options.schedule not in (None, "constant") and settings.floor == 0:
        settings = replace(settings, floor=COLD)
    return settings


def make_optimizer(settings: Common) -> MakeOptimizer:
    """Stage I's optimiser."""

    def make(parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        if settings.optimizer == "sgd":
            return torch.optim.SGD(parameters, lr=settings.learning_rate)
        return torch.optim.AdamW(parameters, lr=settings.learning_rate, weight_decay=0.01, fused=True)

    return make


def adam(parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    """Stage II's optimiser, the paper's."""
    return torch.optim.Adam(parameters, lr=1e-3, fused=True)
