"""Training steps outside any loop: a teacher and terms that are begun for some examples and give losses of beliefs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from softground import Task
from softground.dice import Dice, Sampler
from softground.training.step import Batch, Moment, Teacher, Term, TrainingSet, learn


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a step gives: the loss, and figures per example by name."""

    loss: Tensor
    figures: dict[str, Tensor]
    batch: Batch


class Lesson:
    """A teacher and terms for examples with encoded answers ``y``; ``memory`` is theirs."""

    def __init__(
        self,
        teacher: Teacher,
        task: Task,
        y: Tensor,
        seed: int = 0,
        known: Tensor | None = None,
        terms: Sequence[Term] = (),
    ) -> None:
        self.task, self.y, self.known = task, y, known
        self.teacher = teacher.begin(task)
        train = TrainingSet(task, y, known)
        self.memory = self.teacher.remember(train, seed)
        self.terms = [term.begin(replace(train, memory=self.memory)) for term in terms]

    def batch(self, belief: Any, index: Tensor | None = None, dice: Dice | None = None, **more: Any) -> Batch:
        """The batch about whose examples, in the rows ``index``, the network has this ``belief``."""
        index = torch.arange(len(belief), device=self.y.device) if index is None else index
        known = None if self.known is None else self.known[index]
        given = {
            "answers": self.y[index].as_subclass(Tensor),
            "known": known,
            "moment": Moment(),
            "memory": self.memory,
        } | more
        return Batch(task=self.task, x=None, index=index, dice=dice or Sampler(0), outputs=belief, **given)

    def loss(self, belief: Any, index: Tensor | None = None, dice: Dice | None = None, **more: Any) -> Outcome:
        """The loss of that batch, and its figures. ``more`` are fields of the batch, such as ``symbols``."""
        batch = self.batch(belief, index, dice, **more)
        loss = learn(batch, self.teacher, self.terms)
        return Outcome(loss, batch.figures, batch)
