"""Networks that learn side by side: each member of an ensemble has a lesson of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from .step import Batch, Teacher, Term, learn


def side_by_side(batch: Batch, teacher: Teacher, terms: Sequence[Term]) -> Tensor:
    """The second half of a step for an ensemble: the sum of its members' losses.

    Figures are those of the last member and of the mean.
    """
    believe = batch.task.space.belief
    members = [
        replace(batch, outputs=believe(each, finite=True), losses=[], figures={}) for each in batch.output.unbind(1)
    ]
    loss = torch.stack([learn(member, teacher, terms) for member in members]).sum()
    batch.figures = members[-1].figures | {"loss": loss.detach().expand(len(batch.index))}
    batch.read = believe(batch.output[: len(batch.index)].detach(), finite=True).mode()
    return loss
