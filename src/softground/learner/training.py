"""One shape in training: its examples, what is remembered of them, and what teaches them in the present stage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..errors import DataError, LearnerError
from ..features import terms
from ..networks.ensemble import Scouted, Several
from ..seeds import stream
from ..target import Target
from ..training.anchors import LabelledInputs, check_reads_apart
from ..training.noise import Noise
from ..training.step import CHAINS, Batch, Memory, Moment, Teacher, Term, TrainingSet
from .evaluation import reader
from .parts import Part
from .unexplained import NONE_LEFT, Unexplained

if TYPE_CHECKING:
    from .loop import Loop

ROWS = 512  # examples whose known symbols are held against their answers at a time


class Training(Part):
    """A part of the training set, as one process sees it.

    ``memory`` has what each stage remembers of the examples, one row per example. Nothing else does.
    """

    teacher: Teacher  # of the stage that has begun
    terms: list[Term]

    def __init__(self, part: Part, loop: Loop) -> None:
        super().__init__(part.shape, part.task, part.data)
        learner = loop.learner
        self.loop, self.fabric, self.seed = loop, learner.fabric, learner.seed
        self.stages = learner.staged[self.shape]
        self.memory: list[Memory] = [{} for _ in self.stages]
        self.noise: Noise | None = None  # of the last stage that had one, which tells whose answers are suspect
        known, anchors = self.data.known, self.data.anchors
        self.unexplained = Unexplained(self.task, self.data, learner.unexplained, self.fabric, alone=self.shape is None)
        self.unknown = 1.0
        if known is not None:
            self._refuse_contradictions(known)
            counts = torch.tensor([known.numel(), int((known < 0).sum())], dtype=torch.double, device=self.data.device)
            symbols, unknown = loop.total(counts).tolist()
            self.unknown = symbols / max(1, unknown)
        if anchors is not None:
            check_reads_apart(reader(learner.network, self.data.device), anchors, self.task.space, self.data.device)
        labelled: list[Term] = [] if anchors is None else [LabelledInputs(anchors)]
        self.always: list[Term] = terms(learner.features) + labelled

    @property
    def key(self) -> str:
        """What the names of this part's tensors in a checkpoint begin with."""
        return "" if self.shape is None else f"{self.shape}/"

    def begin(self, number: int) -> None:
        """Prepare the teacher and the terms of a stage, and remember what they need of the examples."""
        stage, fabric, network = self.stages[number], self.fabric, self.loop.network
        process = fabric.global_rank, fabric.world_size
        self.teacher = stage.objective.begin(self.task)
        train = TrainingSet(self.task, self.y, self.data.known, self.data.anchors, process=process)
        memory = self.teacher.remember(train, stream(self.seed, f"start {self.key}{stage.name}", fabric.global_rank))
        self.memory[number] = memory
        self.note(number)
        train = TrainingSet(self.task, self.y, self.data.known, self.data.anchors, memory, process)
        every = [term for term in (*self.always, *stage.terms) if term.serves(self.teacher)]
        self.terms = [term.begin(train) for term in every]
        self.noise = next((term for term in self.terms if isinstance(term, Noise)), self.noise)
        if isinstance(network, Several) and (number == 0 or not isinstance(network, Scouted)):
            _refuse_chains(self.teacher, memory)

    def batch(self, index: Tensor, x: Any, moment: Moment, idle: bool = False) -> Batch:
        """The examples in the rows ``index``, with inputs x; an ``idle`` batch keeps step with other processes."""
        data, streams = self.data, self.loop.streams
        return Batch(
            task=self.task,
            x=x,
            index=index,
            y=self.y[index],
            dice=streams.dice,
            moment=moment,
            known=None if data.known is None else data.known[index],
            symbols=None if data.symbols is None else data.symbols[index],
            memory=self.memory[moment.stage],
            counts=0.0 if idle else 1.0,
            unknown=self.unknown,
            places=data.at,
            order=streams.order,
            processes=self.fabric.world_size,
            total=self.loop.total,
            lap=self.loop.stopwatch.lap,
        )

    def remembered(self, name: str) -> Tensor | None:
        """What the last stage that remembers something by this name has of the examples; of stages that have begun."""
        return next((memory[name] for memory in reversed(self.memory) if name in memory), None)

    def note(self, number: int) -> None:
        """Learn from a stage that has begun which examples nothing explains."""
        self.unexplained.note(self.memory[number], self.y)

    def _refuse_contradictions(self, known: Tensor) -> None:
        """Raise where nothing of S_y is left, if the law on S_y is known; elsewhere the first states will tell."""
        task, y = self.task, self.y
        for rows in torch.split((known >= 0).any(1).nonzero().flatten(), ROWS) if task.inverse.exact else ():
            weights = task.space.uniform(len(rows), y.device).given(known[rows])
            mass = task.inverse.law(Target(weights, y[rows], 1.0)).log_mass()
            lost = rows[torch.isneginf(mass)]
            if len(lost):
                raise task.contradicted(y[lost], self.data.at(lost).tolist())


def _refuse_chains(teacher: Teacher, memory: Memory) -> None:
    """Members of an ensemble would share an example's chain, and each walk it to where it likes."""
    kernel = getattr(teacher, "kernel", None)
    if CHAINS in memory and not (kernel is not None and kernel.independent):
        raise LearnerError(
            f"An ensemble was given, and {type(teacher).__name__} remembers one state of every example, which its "
            "members would share. Use the exact kernel or the semantic loss, or train the members one by one."
        )


Portion = tuple[Training, Tensor, bool, int]
"""A batch of one process: part, rows, whether it is there only to keep step, and the number of all its examples."""


def portions(parts: Sequence[Training], size: int, order: torch.Generator) -> list[Portion]:
    """An epoch's batches of ``size`` examples, each of one part, in random order over all parts.

    All processes deal the same batches and take their own examples of each, so that together they see what one would.
    """
    found: list[Portion] = []
    for part in parts:
        rank, world = part.fabric.global_rank, part.fabric.world_size
        rows = part.unexplained.trained()
        for batch in torch.split(rows[torch.randperm(len(rows), generator=order)], size) if len(rows) else ():
            own = batch[batch % world == rank] // world
            found.append((part, own if len(own) else torch.zeros(1, dtype=torch.long), not len(own), len(batch)))
    if not found:
        raise DataError(NONE_LEFT)
    if len(parts) == 1:  # which are shuffled already
        return found
    return [found[at] for at in torch.randperm(len(found), generator=order).tolist()]


def walked(batches: Sequence[Portion]) -> Iterator[tuple[Training, Tensor, Any, bool]]:
    """``(part, rows, x, idle)`` for each batch, in their order."""
    each: dict[Training, list[Tensor]] = {}
    for part, rows, _, _ in batches:
        each.setdefault(part, []).append(rows)
    walks = {part: part.data.walk(rows) for part, rows in each.items()}
    for part, _, idle, _ in batches:
        yield part, *next(walks[part]), idle
    for walk in walks.values():  # ends a data loader's processes here: its __del__ would swallow Ctrl-C
        next(walk, None)
