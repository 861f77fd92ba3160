"""What a run trains, and how, as the files around the training loop read it. A learner is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

import torch

from ..errors import LearnerError
from ..retired import MEMBERS
from ..task import Family, Shape, Task
from .prediction import Reader
from .stage import Stage

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Augment = Callable[[Any, torch.Generator], Any]
Choices = dict[str, dict[str, Any]]  # by the name of the shape, or of the task where there is one shape
Mode = Literal["raise", "drop"]


class Plan(Reader):
    """A learner's task, network and settings, as its own arguments name them."""

    task: Task | Family
    staged: dict[Shape, list[Stage]]  # the stages by shape
    batch_size: int
    accumulate: int
    evaluate_every: int
    clip: float
    seed: int
    augment: Augment | None
    unexplained: Mode
    features: dict[str, Any]
    recipe: Mapping[str, Any] | None
    place: Mapping[str, Any] | None
    note: str
    fabric: Fabric
    precision: str
    choice_: Choices

    @property
    def stages(self) -> list[Stage]:
        """The stages, those of the first shape of a family."""
        return next(iter(self.staged.values()), [])


def check_mode(mode: Any) -> Mode:
    """Return ``mode`` if it is ``"raise"`` or ``"drop"``; refuse anything else."""
    if mode not in get_args(Mode):
        gone = MEMBERS.get(("unexplained", str(mode)))
        said = f", which is gone. {gone}" if gone else f"expected one of {', '.join(get_args(Mode))}."
        raise LearnerError.of({"unexplained": mode}, said)
    return mode  # type: ignore[no-any-return]
