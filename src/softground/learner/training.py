"""One shape in training: its examples, what is known of them, and each stage's objective for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..errors import DataError
from ..objectives.base import Objective
from ..seeds import stream
from .batches import shuffled
from .labels import Labels
from .noise import Noise
from .parts import Part
from .unexplained import Unexplained

if TYPE_CHECKING:
    from .learner import Learner


class Training(Part):
    """A part of the training set, as one process sees it."""

    def __init__(self, part: Part, learner: Learner) -> None:
        super().__init__(part.shape, part.task, part.data)
        fabric = learner.fabric
        self.rank, self.world, self.seed = fabric.global_rank, fabric.world_size, learner.seed
        if len(self.data) < self.world:
            of = f" of shape {self.shape}" if self.prefix else ""
            raise DataError(
                f"{len(self.data)} training examples{of} for {self.world} processes; give each at least one."
            )
        self.objectives: list[Objective] = [stage.objective for stage in learner.staged[self.shape]]
        self.own: Tensor = torch.arange(self.rank, len(self.data), self.world)
        known = self.data.known
        self.unexplained = Unexplained(self.task, len(self.data), learner.unexplained, known, self.data.positions)
        self.labels = Labels(self.task, self.data, self.y, self.world)
        self.labels.probe(learner.network)
        self.noise = Noise(learner.noise, self.task, self.y, known) if learner.noise else None

    @property
    def key(self) -> str:
        """What the names of this part's tensors in a checkpoint begin with."""
        return "" if self.shape is None else f"{self.shape}/"

    def begin(self, number: int, stage: str) -> Objective:
        """Prepare the objective of a stage."""
        objective = self.objectives[number]
        objective.known = self.data.known
        objective.begin(self.task, self.y, stream(self.seed, f"start {self.key}{stage}"))
        self.note(number)
        if self.noise is not None and objective.weak:
            self.noise.check(objective)
        return objective

    def note(self, number: int) -> None:
        """Learn from a stage that has begun which examples nothing explains."""
        self.unexplained.note(self.objectives[number].state(), self.y)


def mixed(parts: Sequence[Training], size: int, order: torch.Generator) -> list[tuple[Training, Tensor]]:
    """An epoch's batches of ``size`` examples, each of one part, in random order over all parts.

    Every process has as many batches of each part as the others, so that all take as many steps.
    """
    batches = []
    for part in parts:
        trained, most = part.unexplained.trained(part.own, part.world)
        batches += [(part, index) for index in shuffled(trained, most, size, order)]
    if len(parts) == 1:  # which are shuffled already
        return batches
    return [batches[at] for at in torch.randperm(len(batches), generator=order).tolist()]


def walked(batches: Sequence[tuple[Training, Tensor]]) -> Iterator[tuple[Training, Tensor, Any]]:
    """``(part, rows, x)`` for each batch, in their order."""
    each: dict[Training, list[Tensor]] = {}
    for part, index in batches:
        each.setdefault(part, []).append(index)
    walks = {part: part.data.walk(indices) for part, indices in each.items()}
    for part, _ in batches:
        yield part, *next(walks[part])
