"""The objective seam: the loss for a batch.

A training run is a list of stages, each an objective with an optimiser. The softened grounding (Stage I), training on
feasible predictions (Stage II), direct supervision and the paper's baselines are all objectives of one training loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Protocol

from torch import Tensor

from ..dice import Dice
from ..registry import Registry
from ..spaces.base import Belief
from ..task import Task

if TYPE_CHECKING:
    from ..kernels.base import Kernel

CHAINS = "chains"
"""Where :meth:`Objective.state` keeps the examples' groundings ``[examples, sites]``, if it has any."""


class Stopwatch(Protocol):
    """Adds up the time spent in named parts of a step."""

    def __call__(self, part: str) -> AbstractContextManager[None]:
        """Time a block."""


@dataclass(frozen=True, eq=False)
class Batch:
    """What an objective may look at."""

    index: Tensor  # [batch] positions of these examples in the training set
    belief: Belief  # P(z|x), given the known symbols, attached to the network's gradient tape
    y: Tensor  # encoded answers
    symbols: Tensor | None  # true symbols where known; only direct supervision reads them
    epoch: int  # passes over the data since the stage began, without those in which its schedule stands still
    dice: Dice
    stopwatch: Stopwatch
    positions: Tensor | None = None  # [batch] in the whole data set, of which the training set may be one shape

    @property
    def places(self) -> list[int]:
        """Where these examples stand in the data set, for messages."""
        return (self.index if self.positions is None else self.positions).tolist()

    def rows(self, rows: Tensor) -> Batch:
        """Some of the examples."""
        symbols = None if self.symbols is None else self.symbols[rows]
        positions = None if self.positions is None else self.positions[rows]
        parts = {"index": self.index[rows], "y": self.y[rows], "symbols": symbols, "positions": positions}
        return replace(self, belief=self.belief.rows(rows), **parts)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Outcome:
    """A loss to descend, and per-example diagnostics to average over the epoch (``[batch]`` tensors by name)."""

    loss: Tensor
    diagnostics: dict[str, Tensor]


class Objective(ABC):
    """A loss, with whatever it remembers about each example; most remember nothing."""

    task: Task
    weak: ClassVar[bool] = True  # whether it learns from answers
    open: bool = False  # whether the inverse, and a kernel that goes with it, are to be chosen for it before begin()
    known: Tensor | None = None  # codes of the training set's known symbols, −1 where unknown; set before begin()

    def begin(self, task: Task, y: Tensor, seed: int) -> None:
        """Prepare for a training set with encoded answers ``y``; called once, before the first batch."""
        self.task = task

    @abstractmethod
    def loss(self, batch: Batch) -> Outcome:
        """The loss of a batch."""

    def settings(self, epoch: int) -> dict[str, float]:
        """Numbers worth recording for this epoch, such as γ: all those from Python that the loss depends on."""
        return {}

    def static(self, batch: Batch) -> bool:
        """Whether :meth:`loss` asks the device for no value, so that a GPU can record it for all batches like this."""
        return False

    def state(self) -> dict[str, Tensor]:
        """Memory, one row per example of the training set, for checkpoints and for gathering across processes."""
        return {}

    def restore(self, state: dict[str, Tensor]) -> None:  # noqa: B027  # nothing to restore is the usual case
        """Continue from :meth:`state`, on the network's device; a finished stage is restored without ``begin``."""

    def record(self, recorded: Callable[[Kernel], Kernel]) -> None:  # noqa: B027  # most take no kernel steps
        """Take kernel steps as ``recorded`` gives them back (:mod:`softground.gpu`); called after :meth:`begin`."""


OBJECTIVES: Registry[Callable[..., Objective]] = Registry("objective")
"""Objectives by name; each takes its own settings, all of which but those of ``grounding`` have defaults."""
