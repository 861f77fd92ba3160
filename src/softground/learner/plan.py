"""The plan of a run: task, network and settings, for the files around the training loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ..files import Json
from ..task import Family, Shape, Task
from .prediction import Reader
from .settings import TrainingSettings
from .stage import Stage

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Augment = Callable[[Any, torch.Generator], Any]
Choices = dict[str, Json]  # by the name of the shape, or of the task where there is one shape


class Plan(Reader):
    """A learner's task, network and settings, as its own arguments name them."""

    task: Task | Family
    staged: dict[Shape, list[Stage]]  # the stages by shape
    settings: TrainingSettings
    augment: Augment | None
    recipe: Mapping[str, object] | None
    place: Mapping[str, object] | None
    note: str
    fabric: Fabric
    precision: str
    ways: list[str]  # of grounding, one for each start
    again: Callable[[int], nn.Module] | None  # makes the network of a further start
    choice_: Choices
    grounding_: dict[str, Any] | None

    @property
    def stages(self) -> list[Stage]:
        """The stages, those of the first shape of a family."""
        return next(iter(self.staged.values()), [])
