"""The estimator: fit, predict, evaluate. Thin on purpose; the loop is in :mod:`softground.learner.loop`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.utils.data import Dataset

from ..errors import LearnerError
from ..inverses.base import SolvingInverse
from ..inverses.table import Table
from ..kernels import Composed, Exact, Guided, Kernel
from ..objectives import SoftenedGrounding, ZeroDegree
from ..projections import RandomDrop
from ..runs.folder import RunFolder
from ..schedules import Constant, Schedule
from ..task import Task
from .batches import Batches
from .evaluation import beliefs, evaluate
from .loop import Augment, Loop, Observer
from .prediction import most_probable
from .stage import MakeOptimizer, Stage, one_cycle


class Learner:
    """Trains a network to recognise symbols from answers alone.

    Parameters
    ----------
    task
        Symbols, rule and inverse.
    network
        Any module from a batch of inputs to ``[batch, sites, space.outputs]``.
    stages
        What to do, in order; see :func:`two_stages`. By default the kernel that fits the task, at γ = 1.
    batch_size, seed, augment
        See :class:`~softground.learner.loop.Loop`.
    device
        ``"auto"``, ``"cpu"`` or ``"cuda"``. Under ``torchrun`` every process takes its own.

    Attributes
    ----------
    history_
        One record per epoch, as in ``metrics.jsonl``.
    results_
        Test figures after each stage.
    """

    def __init__(
        self,
        task: Task,
        network: nn.Module,
        stages: Sequence[Stage] | None = None,
        *,
        batch_size: int = 64,
        seed: int = 0,
        augment: Augment | None = None,
        device: Literal["auto", "cpu", "cuda"] = "auto",
        evaluate_every: int = 1,
    ) -> None:
        self.task = task
        self.network = network
        self.stages = list(two_stages(task) if stages is None else stages)
        if not self.stages or len({s.name for s in self.stages}) != len(self.stages):
            raise LearnerError(f"Stages {[s.name for s in self.stages]} were given; expected at least one, names distinct.")
        if batch_size < 1:
            raise LearnerError(f"batch_size={batch_size} was given; expected at least 1.")
        self.batch_size = batch_size
        self.seed = seed
        self.augment = augment
        self.evaluate_every = evaluate_every
        self.fabric = make_fabric(device)

    def fit(
        self,
        train: Dataset[Any],
        test: Dataset[Any] | None = None,
        *,
        out: Path | str | RunFolder | None = None,
        resume: bool = False,
        previous: bool = False,
        observer: Observer | None = None,
    ) -> Learner:
        """Train on pairs (x, y); with ``out``, keep metrics and checkpoints there and be able to resume."""
        folder = out if isinstance(out, RunFolder) or out is None else (
            RunFolder.open(out) if resume else RunFolder.create(out, self.task.name)
        )  # fmt: skip
        self.loop = Loop(
            self.task, self.network, self.stages, self.fabric, self.batch_size, self.seed, self.augment, folder,
            observer or (lambda event, facts: None), self.evaluate_every,
        )  # fmt: skip
        device = self.fabric.device
        self.loop.run(Batches(train, device), None if test is None else Batches(test, device), resume, previous)
        self.history_, self.results_ = self.loop.history, self.loop.results
        return self

    def evaluate(self, data: Dataset[Any]) -> dict[str, Any]:
        """The task's metrics on pairs (x, y)."""
        batches = Batches(data, self.fabric.device)
        y = self.task.constraint.encode(batches.answers).to(self.fabric.device)
        return evaluate(self.task, self._here(), batches, y)

    def predict(self, x: Any, y: Sequence[Any] | None = None, *, constrained: bool = False) -> list[tuple[Any, ...]]:
        """The most probable symbols of each input.

        With answers ``y``, the most probable z ∈ S_y; with ``constrained=True``, the most probable z that has any
        answer at all (a valid board, a formula without division by zero).
        """
        return self.task.space.decode(self.predict_codes(x, y, constrained=constrained))

    def predict_codes(self, x: Any, y: Sequence[Any] | None = None, *, constrained: bool = False) -> Tensor:
        """:meth:`predict`, as codes ``[inputs, sites]``."""
        device = self.fabric.device
        inputs = Batches(_Unanswered(x), device)
        encoded = None if y is None else self.task.constraint.encode(list(y)).to(device)
        if encoded is not None and len(encoded) != len(inputs):
            raise LearnerError(f"{len(inputs)} inputs but {len(encoded)} answers: give one answer per input.")
        rows = []
        for index, belief in beliefs(self.task, self._here(), inputs):
            if encoded is None and not constrained:
                rows.append(belief.mode())
            else:
                rows.append(most_probable(self.task, belief, None if encoded is None else encoded[index]))
        return torch.cat(rows)

    def _here(self) -> nn.Module:
        return self.network.to(self.fabric.device)


class _Unanswered(Dataset[Any]):
    """Inputs alone, as pairs with an answer that nobody reads."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return self.x[index], 0


def default_kernel(task: Task) -> Kernel:
    """Exact draws with marginals where S_y can be listed; else the network's own proposals with random pairs dropped."""
    inverse = task.inverse
    if isinstance(inverse, Table):
        exact: SolvingInverse = inverse
        return Exact(exact)
    if task.space.sites < 2:
        raise LearnerError("A single site cannot be projected; give a rule that can be tabulated.")
    return Composed([Guided(inverse, RandomDrop(task.space, min(2, task.space.sites - 1)), marginals=True)] * 4)


def two_stages(
    task: Task,
    kernel: Kernel | None = None,
    schedule: Schedule | None = None,
    *,
    epochs: int = 20,
    steps: int = 1,
    optimizer: MakeOptimizer | None = None,
    zero_epochs: int = 0,
) -> list[Stage]:
    """Stage I with any kernel and schedule, then ``zero_epochs`` of Stage II; Adam with a one-cycle rate by default."""

    def adam(parameters: Any) -> torch.optim.Optimizer:
        return torch.optim.AdamW(parameters, lr=3e-3)

    objective = SoftenedGrounding(kernel or default_kernel(task), schedule or Constant(1.0), steps)
    stages = [Stage("I", objective, epochs, optimizer or adam, None if optimizer else one_cycle())]
    if zero_epochs:
        stages.append(Stage("II", ZeroDegree(), zero_epochs, lambda p: torch.optim.Adam(p, lr=1e-3)))
    return stages


def make_fabric(device: Literal["auto", "cpu", "cuda"] = "auto") -> Fabric:
    """Fabric for one process, or for those that ``torchrun`` started."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise LearnerError("device='cuda' was given, but torch sees no GPU. Use device='cpu' or 'auto'.")
    local = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    nodes = int(os.environ.get("WORLD_SIZE", 1)) // local
    fabric = Fabric(accelerator=device, devices=local, num_nodes=nodes, strategy="ddp" if local * nodes > 1 else "auto")
    fabric.launch()
    return fabric
