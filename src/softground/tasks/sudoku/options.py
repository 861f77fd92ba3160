"""``softground train sudoku``: options, and the experiment they describe."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

import torch
from torch import nn

from ...data.augment import RandomAffine
from ...learner.stage import Stage, one_cycle
from ...learner.streams import stream
from ...networks import PerSite, convnet, lenet
from ...objectives import SoftenedGrounding, Supervised, ZeroDegree
from ...schedules import by_name
from ...task import Task
from ..experiment import Device, Experiment
from .boards import LISTED
from .data import Source, load
from .metrics import sudoku_metrics
from .presets import LARGE, PRESETS, KernelName, NetworkName, Preset, ScheduleName
from .rule import sudoku_program
from .walks import InverseName, make_inverse, make_kernel

DISTORTION = RandomAffine(degrees=15.0, shrink=0.15, grow=0.15, shear=0.15, shift=0.1, elastic=0.03)


@dataclass(frozen=True)
class SudokuOptions:
    """Visual Sudoku: recognise digits from nothing but the knowledge that boards are valid."""

    name: ClassVar[str] = "sudoku"

    data: Source = "digits"
    """digits: scikit-learn's handwritten digits (built in); mnist: MNIST in IDX format from --data-dir."""
    data_dir: Path | None = None
    """Where MNIST's IDX files lie."""
    size: Literal[4, 9] = 4
    """Side of the boards."""
    train_size: int = 100
    """Training boards."""
    test_size: int = 1000
    """Test boards."""
    preset: Literal["paper", "best"] = "best"
    """paper: the paper's setting; best: what we recommend. The options below override single parts of it."""
    objective: Literal["grounding", "sup"] = "grounding"
    """grounding: learn from the rule; sup: the same network trained with labels, as a yardstick."""
    schedule: ScheduleName | None = None
    """How γ falls."""
    gamma: float = 1.0
    """γ₀, the first temperature."""
    epochs: int | None = None
    """Epochs of Stage I (default: the preset's, or as many as its number of updates takes)."""
    zero_epochs: int | None = None
    """Epochs of Stage II (γ = 0)."""
    network: NetworkName | None = None
    """lenet: LeNet-5; convnet: a small convolutional network with batch normalisation."""
    kernel: KernelName | None = None
    """metropolis, mcmc: the paper's; kempe: two digits at a time; mixed: kempe and jumps; exact: all boards of 4×4."""
    steps: int | None = None
    """T, kernel steps per gradient step."""
    marginals: bool | None = None
    """Learn from the kernel's marginals, where it has them, instead of its draws."""
    inverse: InverseName = "auto"
    """How inverse projections are computed; auto lists the boards of 4×4 and searches for larger ones."""
    solver_workers: int = 1
    """Processes for the z3 inverse."""
    batch_size: int | None = None
    """Boards per gradient step."""
    learning_rate: float | None = None
    """Stage I's learning rate."""
    augment: bool | None = None
    """Random affine distortions of the training images."""
    seed: int = 0
    """Decides every draw."""
    device: Device = "auto"
    """Where to train; auto takes a GPU if there is one."""
    deterministic: bool = False
    """On a GPU: only algorithms that give the same bits each time (slower). A CPU always does."""
    evaluate_every: int = 20
    """Epochs between evaluations on the test set."""
    out: Path | None = None
    """The run folder (default: a new one under runs/)."""
    quiet: bool = False
    """No progress display."""

    def settings(self) -> Preset:
        """The preset with this command's overrides."""
        given = {
            "schedule": self.schedule, "epochs": self.epochs, "zero_epochs": self.zero_epochs, "network": self.network,
            "kernel": self.kernel, "steps": self.steps, "marginals": self.marginals, "batch_size": self.batch_size,
            "learning_rate": self.learning_rate, "augment": self.augment,
        }  # fmt: skip
        preset = LARGE if self.preset == "best" and self.size > LISTED else PRESETS[self.preset]
        settings = replace(preset, **{k: v for k, v in given.items() if v is not None})  # type: ignore[arg-type]
        if self.schedule not in (None, "constant") and settings.floor == 0:
            settings = replace(settings, floor=0.02)
        return settings

    def build(self) -> Experiment:
        """Draw the boards and make task, network and stages."""
        settings = self.settings()
        data = load(self.data, self.data_dir, self.size, self.train_size, self.test_size, stream(self.seed, "data"))
        task = sudoku_task(self.size, self.inverse, self.solver_workers)
        image = tuple(data.train.x.shape[2:])
        torch.manual_seed(stream(self.seed, "weights"))
        make = {"lenet": lenet, "convnet": convnet}[settings.network]
        network = PerSite(make(image, task.space.outputs), image)  # type: ignore[arg-type]
        augment = DISTORTION if settings.augment else None
        return Experiment(
            task, network, self.stages(task, settings), data.train, data.test, settings.batch_size, augment, data.note
        )

    def stages(self, task: Task, settings: Preset) -> list[Stage]:
        """Supervision, or Stage I and, where asked for, Stage II."""

        def optimizer(parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
            if settings.optimizer == "sgd":
                return torch.optim.SGD(parameters, lr=settings.learning_rate)
            return torch.optim.AdamW(parameters, lr=settings.learning_rate, weight_decay=0.01)

        epochs = settings.passes(self.train_size)
        rate = one_cycle() if settings.one_cycle else None
        if self.objective == "sup":
            return [Stage("SUP", Supervised(), epochs, optimizer, rate, settings.keep)]
        schedule = by_name(settings.schedule, self.gamma, settings.floor, settings.warmup, epochs)
        kernel = make_kernel(settings.kernel, self.size, task, settings.marginals)
        grounding = SoftenedGrounding(kernel, schedule, settings.steps)
        stages = [Stage("I", grounding, epochs, optimizer, rate, settings.keep)]
        if settings.zero_epochs:
            stages.append(Stage("II", ZeroDegree(), settings.zero_epochs, _adam))
        return stages


def _adam(parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.Adam(parameters, lr=1e-3)


def sudoku_task(size: int = 4, inverse: InverseName = "auto", workers: int = 1) -> Task:
    """Boards of a size as a task."""
    program = sudoku_program(size)
    return Task(program.space, program, make_inverse(inverse, size, program.space, workers), sudoku_metrics, "sudoku")
