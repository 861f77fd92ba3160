"""One shape in training: its examples, what is known of them, and each stage's objective for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..errors import DataError, LearnerError
from ..networks.ensemble import Several
from ..networks.scouts import Scouted
from ..objectives import SoftenedGrounding
from ..objectives.base import Batch, Objective
from ..objectives.starts import WAITING
from ..objectives.usage import HOLD
from ..seeds import stream
from .batches import shuffled
from .judging import Judge, Moment
from .labels import Labels
from .noise import Noise
from .parts import Part
from .unexplained import NONE_LEFT, Unexplained

if TYPE_CHECKING:
    from .learner import Learner


# How much more a prior on usage counts where members are compared: one that leaves a symbol out has merged two, and
# what it gains in the rule does not make up for that.
STRICT = 2.0


class Training(Part):
    """A part of the training set, as one process sees it."""

    def __init__(self, part: Part, learner: Learner) -> None:
        super().__init__(part.shape, part.task, part.data)
        fabric = learner.fabric
        self.fabric, self.seed = fabric, learner.seed
        self.stages = learner.staged[self.shape]
        self.objectives: list[Objective] = [stage.objective for stage in self.stages]
        known = self.data.known
        self.unexplained = Unexplained(self.task, self.data, learner.unexplained, fabric, alone=self.shape is None)
        self.labels = Labels(self.task, self.data, self.y, fabric.world_size)
        self.labels.probe(learner.network)
        self.several = learner.network if isinstance(learner.network, Several) else None
        self.noise = Noise(learner.noise, self.task, self.y, known) if learner.noise else None
        self.judge: Judge  # of the stage that has begun

    @property
    def key(self) -> str:
        """What the names of this part's tensors in a checkpoint begin with."""
        return "" if self.shape is None else f"{self.shape}/"

    def begin(self, number: int, stage: str) -> Objective:
        """Prepare the objective of a stage."""
        objective = self.objectives[number]
        objective.known = self.data.known
        objective.begin(self.task, self.y, stream(self.seed, f"start {self.key}{stage}", self.fabric.global_rank))
        self.note(number)
        if self.noise is not None and objective.weak:
            self.noise.check(objective)
        for term in self.stages[number].terms:
            term.begin(self.task)
        if isinstance(self.several, Scouted):
            self.several.scouting = number == 0 and len(self.stages) > 1
        if self.several is not None and (number == 0 or not isinstance(self.several, Scouted)):
            _refuse_chains(objective)
        return objective

    def loss(
        self, batch: Batch, output: Any, anchors: Tensor | None, moment: Moment
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of a batch, whose belief has the ``anchors`` after the examples, and its diagnostics.

        Members of an ensemble learn each for itself. So do scouts, while terms have their whole weight; then the best
        of them learns alone. Diagnostics are those of the last.
        """
        several, compared, members = self.several, self._compared(moment), [batch.belief]
        if several is not None and output.dim() == 4:
            outputs = list(output.unbind(1))
            if compared and isinstance(several, Scouted):
                outputs = [outputs[int(several.losses.argmin())]]
            members = [self.task.space.belief(each, finite=True) for each in outputs]
        found = [self._loss(replace(batch, belief=each), anchors, moment) for each in members]
        if several is None:
            return found[0]
        losses = torch.stack([loss for loss, _ in found])
        if not compared:
            unused = [diagnostics["usage_kl"].mean() for _, diagnostics in found if "usage_kl" in diagnostics]
            several.note(losses.detach() + (STRICT * torch.stack(unused) if unused else 0.0))
        return losses.sum(), found[-1][1]

    def _compared(self, moment: Moment) -> bool:
        """Whether the members of an ensemble have been compared."""
        return moment.number > 0 or moment.share > HOLD

    def numbers(self, moment: Moment) -> tuple[Any, ...] | None:
        """The numbers from Python that the loss at this moment depends on; None where it cannot be recorded."""
        chosen = isinstance(self.several, Scouted) and self._compared(moment)
        weights = [term.number(moment.share) for term in self.stages[moment.number].terms]
        if self.noise is not None or chosen or None in weights:
            return None
        settings = self.objectives[moment.number].settings(moment.tick)
        return (*settings.items(), *weights, self._compared(moment))

    def static(self, batch: Batch, moment: Moment) -> bool:
        """Whether the loss asks the device for no value."""
        return self.objectives[moment.number].static(batch)

    def memory(self, number: int) -> list[Tensor]:
        """What the loss of a stage changes in place."""
        return [*self.objectives[number].state().values(), *([] if self.several is None else self.several.buffers())]

    def _loss(self, batch: Batch, anchors: Tensor | None, moment: Moment) -> tuple[Tensor, dict[str, Tensor]]:
        objective = self.objectives[moment.number]
        more: dict[str, Tensor] = {}
        given, labelled = self.labels.split(batch.belief, batch.index, anchors)
        if self.noise is not None and objective.weak:
            with batch.stopwatch("sampling"):
                given, more = self.noise.weigh(given, batch.y, batch.index, moment.level, objective)
        batch, terms = replace(batch, belief=given), self.stages[moment.number].terms
        outcomes = [objective.loss(batch), *(term.loss(self.task, batch, moment.share) for term in terms)]
        losses = [outcome.loss for outcome in outcomes] + ([] if labelled is None else [labelled])
        return sum(losses[1:], losses[0]), {**more, **{k: v for o in outcomes for k, v in o.diagnostics.items()}}

    def note(self, number: int) -> None:
        """Learn from a stage that has begun which examples nothing explains."""
        self.unexplained.note(self.objectives[number].state(), self.y)


def _refuse_chains(objective: Objective) -> None:
    """Members of an ensemble would share an example's chain, and each walk it to where it likes."""
    kernel = objective.kernel if isinstance(objective, SoftenedGrounding) else None
    drawn = kernel is not None and kernel.independent
    if objective.state().keys() - {WAITING} and not drawn:
        raise LearnerError(
            f"An ensemble was given, and {type(objective).__name__} remembers one state of every example, which its "
            "members would share. Use the exact kernel or the semantic loss, or train the members one by one."
        )


def mixed(parts: Sequence[Training], size: int, order: torch.Generator) -> list[tuple[Training, Tensor]]:
    """An epoch's batches of ``size`` examples, each of one part, in random order over all parts.

    Every process has as many batches of each part as the others, so that all take as many steps.
    """
    batches = []
    for part in parts:
        trained, most = part.unexplained.trained()
        batches += [(part, index) for index in (shuffled(trained, most, size, order) if most else ())]
    if not batches:
        raise DataError(NONE_LEFT)
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
