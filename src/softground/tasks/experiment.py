"""What ``softground train NAME`` needs of a task: options that build an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from torch import nn
from torch.utils.data import Dataset

from ..learner.loop import Augment
from ..learner.stage import Stage
from ..task import Task

Device = Literal["auto", "cpu", "cuda"]


@dataclass(frozen=True, eq=False)
class Experiment:
    """Everything a run is made of, ready to train."""

    task: Task
    network: nn.Module
    stages: list[Stage]
    train: Dataset[Any]
    test: Dataset[Any]
    batch_size: int
    augment: Augment | None
    note: str  # one sentence on where the data come from


class Options(Protocol):
    """A frozen dataclass of command-line options, which is also the config kept in the run folder."""

    name: ClassVar[str]

    @property
    def seed(self) -> int:
        """Decides every draw."""

    @property
    def device(self) -> Device:
        """Where to train."""

    @property
    def out(self) -> Path | None:
        """The run folder; None makes a new one."""

    @property
    def quiet(self) -> bool:
        """Whether to show no progress."""

    @property
    def json(self) -> bool:
        """Whether to print the summary as JSON, and nothing else."""

    @property
    def tensorboard(self) -> bool:
        """Whether to log for TensorBoard."""

    @property
    def evaluate_every(self) -> int:
        """Epochs between evaluations on the test set."""

    @property
    def deterministic(self) -> bool:
        """Whether a GPU may only use algorithms that give the same bits each time."""

    def build(self) -> Experiment:
        """Load data, make the network and the stages, all decided by ``seed``."""
