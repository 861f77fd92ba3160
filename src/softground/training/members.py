"""Networks that learn side by side: each member of an ensemble, or each scout, has a lesson of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from ..networks.ensemble import Scouted, Several
from .step import Batch, Half, Teacher, Term, learn, lesson
from .usage import HOLD

# How much more a prior on usage counts where members are compared: one that leaves a symbol out has merged two, and
# what it gains in the rule does not make up for that.
STRICT = 2.0


def side_by_side(network: Several) -> Half:
    """The second half of a step for an ensemble: the sum of its members' losses.

    Members are compared while terms have their whole weight; then the best scout learns alone. Figures are those of the
    last member and of the mean.
    """

    def lessons(batch: Batch, teacher: Teacher, terms: Sequence[Term]) -> Tensor:
        if batch.output.dim() == 3:  # one reading is left
            return lesson(batch, teacher, terms)
        compared = batch.moment.stage > 0 or batch.moment.share > HOLD
        outputs = batch.output.unbind(1)
        if compared and isinstance(network, Scouted):  # the best scout goes on alone
            outputs = [outputs[int(network.losses.argmin())]]
        believe = batch.task.space.belief
        members = [replace(batch, outputs=believe(each, finite=True), losses=[], figures={}) for each in outputs]
        losses = torch.stack([learn(member, teacher, terms) for member in members])
        if not compared:
            unused = [member.figures["usage_kl"].mean() for member in members if "usage_kl" in member.figures]
            network.note(losses.detach() + (STRICT * torch.stack(unused) if unused else 0.0))
        loss = losses.sum()
        batch.figures = members[-1].figures | {"loss": loss.detach().expand(len(batch.index))}
        batch.read = believe(batch.output[: len(batch.index)].detach(), finite=True).mode()
        return loss

    return lessons
