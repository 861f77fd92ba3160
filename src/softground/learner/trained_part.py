"""One shape in training: its examples, the run's memory of them, and the current stage's teacher.

Examples whose S_y is proved empty are left out, or refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor

from ..dice import Streams, stream
from ..errors import DataError, InfeasibleAnswer, LearnerError, Setting
from ..files import Json
from ..inverses.base import empty
from ..networks.ensemble import Ensemble
from ..task import Shape, Task
from ..training.features import terms
from ..training.first_states import EMPTY, WAITING, WAITS
from ..training.labelled_inputs import LabelledInputs, check_reads_apart
from ..training.noise import Noise
from ..training.scaled import Scaled
from ..training.step import CHAINS, Batch, Memory, Moment, Teacher, Term, TrainingSet
from .datasets import Batches, Part
from .device import everyone
from .evaluation import reader
from .plan import Plan
from .settings import Mode

if TYPE_CHECKING:
    from lightning_fabric import Fabric

ROWS = 512  # examples whose known symbols are checked against their answers at a time
T = TypeVar("T")
REMEDY = (
    "No symbols explain the answer: S_y is empty. Correct these examples, or leave them out: ",
    Setting("unexplained", "drop"),
    ".",
)
NONE_LEFT = "No symbols explain any of the answers, so no example is left to train on. Correct the answers or the rule."
NAMED = 1000  # positions listed in a summary


class TrainedPart(Part):
    """One process's share of a part of the training set.

    ``memory`` is each stage's memory of the examples, one row per example.
    """

    teacher: Teacher  # of the stage that has begun
    terms: list[Term]

    def __init__(
        self, part: Part, plan: Plan, streams: Streams, total: Callable[[Tensor], Tensor], lap: Callable[[str], None]
    ) -> None:
        super().__init__(part.shape, part.task, part.data)
        self.y = part.y  # encoded once
        self.answers = self.y.as_subclass(Tensor)
        self.network, self.fabric, self.seed = plan.network, plan.fabric, plan.settings.seed
        self.streams, self.total, self.lap = streams, total, lap
        self.stages = plan.staged[self.shape]
        self.memory: list[Memory] = [{} for _ in self.stages]
        self.noise: Noise | None = None  # of the last stage with one; it finds suspect answers
        known, anchors = self.data.known, self.data.anchors
        self.unexplained = Unexplained(
            self.task, self.data, plan.settings.unexplained, self.fabric, alone=self.shape is None
        )
        self.unknown = 1.0
        if known is not None:
            self._refuse_contradictions(known)
            counts = torch.tensor([known.numel(), int((known < 0).sum())], dtype=torch.double, device=self.data.device)
            symbols, unknown = total(counts).tolist()
            self.unknown = symbols / max(1, unknown)
        if anchors is not None:
            check_reads_apart(reader(self.network, self.data.device), anchors, self.task.space, self.data.device)
        labelled: list[Term] = [] if anchors is None else [LabelledInputs(anchors)]
        self.always: list[Term] = terms(plan.settings) + labelled

    @property
    def key(self) -> str:
        """The prefix of this part's tensors in a checkpoint."""
        return "" if self.shape is None else f"{self.shape}/"

    def begin(self, number: int) -> None:
        """Prepare the teacher, the terms and the memory of a stage."""
        stage, fabric = self.stages[number], self.fabric
        process = fabric.global_rank, fabric.world_size
        self.teacher = stage.objective.begin(self.task)
        train = TrainingSet(self.task, self.y, self.data.known, process=process)
        memory = self.teacher.remember(train, stream(self.seed, f"start {self.key}{stage.name}", fabric.global_rank))
        self.memory[number] = memory
        self.note(number)
        train = replace(train, memory=memory)
        scaled = [Scaled()] if stage.scaled else []
        every = [term for term in (*self.always, *scaled, *stage.terms) if term.serves(self.teacher)]
        self.terms = [term.begin(train) for term in every]
        self.noise = next((term for term in self.terms if isinstance(term, Noise)), self.noise)
        if isinstance(self.network, Ensemble):
            _refuse_chains(self.teacher, memory)

    def batch(self, index: Tensor, x: object, moment: Moment, idle: bool = False) -> Batch:
        """Make a batch of the rows ``index``, with inputs x; an ``idle`` one keeps step with other processes."""
        data = self.data
        return Batch(
            task=self.task,
            x=x,
            index=index,
            answers=self.answers[index],
            dice=self.streams.dice,
            moment=moment,
            known=None if data.known is None else data.known[index],
            symbols=None if data.symbols is None else data.symbols[index],
            memory=self.memory[moment.stage],
            counts=0.0 if idle else 1.0,
            unknown=self.unknown,
            places=data.at,
            order=self.streams.order,
            processes=self.fabric.world_size,
            total=self.total,
            lap=self.lap,
        )

    def remembered(self, name: str) -> Tensor | None:
        """The memory of this name, from the last stage with one."""
        return next((memory[name] for memory in reversed(self.memory) if name in memory), None)

    def note(self, number: int) -> None:
        """Note unexplained examples from the memory of a stage that has begun."""
        self.unexplained.note(self.memory[number], self.y)

    def _refuse_contradictions(self, known: Tensor) -> None:
        """Raise if known symbols leave S_y empty, if its distribution is known; otherwise the first states show it."""
        task, y = self.task, self.y
        for rows in torch.split((known >= 0).any(1).nonzero().flatten(), ROWS) if task.inverse.exact else ():
            lost = rows[empty(task.inverse, y[rows], known[rows])]
            if len(lost):
                raise task.contradicted(y[lost], self.data.at(lost).tolist())


def _refuse_chains(teacher: Teacher, memory: Memory) -> None:
    """Refuse chains for an ensemble: its members would share an example's chain, and each would move it."""
    kernel = getattr(teacher, "kernel", None)
    if CHAINS in memory and not (kernel is not None and kernel.independent):
        raise LearnerError(
            f"An ensemble was given, and {type(teacher).__name__} remembers one state of every example, which its "
            "members would share. Use the exact kernel or the semantic loss, or train the members one by one."
        )


DealtBatch = tuple[TrainedPart, Tensor, bool, int]
"""One process's batch: its part, its rows, whether it only keeps step, and the number of examples in all processes."""


def deal_batches(
    parts: Sequence[TrainedPart], size: int, order: torch.Generator, shuffle: bool = True
) -> list[DealtBatch]:
    """Deal an epoch's batches of ``size`` examples, each of one part, in random or given order over all parts.

    All processes deal the same batches and take their own examples of each.
    """
    found: list[DealtBatch] = []
    for part in parts:
        rank, world = part.fabric.global_rank, part.fabric.world_size
        rows = part.unexplained.trained()
        rows = rows[torch.randperm(len(rows), generator=order)] if shuffle else rows
        for batch in torch.split(rows, size) if len(rows) else ():
            own = batch[batch % world == rank] // world
            found.append((part, own if len(own) else torch.zeros(1, dtype=torch.long), not len(own), len(batch)))
    if not found:
        raise DataError(NONE_LEFT)
    if len(parts) == 1 or not shuffle:
        return found
    return [found[at] for at in torch.randperm(len(found), generator=order).tolist()]


def with_inputs(batches: Sequence[DealtBatch]) -> Iterator[tuple[TrainedPart, Tensor, Any, bool]]:
    """``(part, rows, x, idle)`` for each batch, in their order."""
    each: dict[TrainedPart, list[Tensor]] = {}
    for part, rows, _, _ in batches:
        each.setdefault(part, []).append(rows)
    walks = {part: part.data.walk(rows) for part, rows in each.items()}
    for part, _, idle, _ in batches:
        yield part, *next(walks[part]), idle
    for walk in walks.values():  # ends a data loader's processes here: its __del__ would swallow Ctrl-C
        next(walk, None)


class Unexplained:
    """The unexplained examples: this process's by row, all of them by position.

    ``"raise"`` stops at the first ones found. ``"drop"`` leaves them out of all batches.
    """

    def __init__(self, task: Task, data: Batches, mode: Mode, fabric: Fabric, alone: bool = True) -> None:
        self.task, self.data, self.mode, self.fabric = task, data, mode, fabric
        self.alone = alone  # whether there is no other shape with examples left
        self.found: list[int] = []
        self.empty = torch.zeros(len(data), dtype=torch.bool, device=data.device)
        self.waits = False  # whether examples of any process have no first state, though they may have one
        self.lost: list[int] = []  # unexplained rows of the whole part

    def forget(self) -> None:
        """Forget all unexplained examples."""
        self.found, self.lost, self.waits = [], [], False
        self.empty = torch.zeros_like(self.empty)

    def note(self, state: Mapping[str, Tensor], y: Tensor) -> None:
        """Find examples without a state (``WAITING``) in a stage's memory.

        Processes share their results and stop together.
        """
        waiting = state.get(WAITING, torch.zeros_like(self.empty))
        self.empty = self.empty | (waiting == EMPTY)
        lost, waits = (rows.nonzero().flatten() for rows in (waiting == EMPTY, waiting == WAITS))
        places, known, error = self.data.at(lost).tolist(), self.data.known, None
        if places and known is not None and bool((known[lost] >= 0).any()):
            error = self.task.contradicted(y[lost], places)
        elif places:
            error = self.task.infeasible(y[lost], places, *REMEDY)
            if self.mode != "raise" and isinstance(error, InfeasibleAnswer):
                error = None
        rank, world = self.fabric.global_rank, self.fabric.world_size
        rows = (self.empty.nonzero().flatten() * world + rank).tolist()
        found = everyone(self.fabric, (error, places, self.data.at(waits).tolist(), rows))
        for error, *_ in found:
            if error is not None:
                raise error
        self.found = sorted({*self.found, *(place for _, each, _, _ in found for place in each)})
        self.lost = sorted(row for *_, rows in found for row in rows)
        if self.alone and len(self.lost) == self.data.total:
            raise self.task.infeasible(y[lost], places, NONE_LEFT)
        waiters = sorted(place for _, _, each, _ in found for place in each)
        self.waits = bool(waiters)
        if waiters and self.fabric.is_global_zero:
            shown = f"{', '.join(map(str, waiters[:5]))}{' …' if len(waiters) > 5 else ''}"
            warnings.warn(
                f"No first state was found for {len(waiters)} of {self.data.total} examples ({shown}), though one may "
                "exist. The run goes on without them and asks the network in every epoch; 'unstarted' in the metrics "
                "counts those that still wait.",
                stacklevel=2,
            )

    def trained(self) -> Tensor:
        """The training rows of all processes."""
        rows = torch.ones(self.data.total, dtype=torch.bool)
        rows[self.lost] = False
        return rows.nonzero().flatten()

    def counted(self, waiting: Tensor | None) -> dict[str, Tensor]:
        """Figures of an epoch: this process's numbers of unexplained and of waiting examples."""
        figures = {"unexplained": self.empty.sum()} if self.found else {}
        if self.waits:
            figures["unstarted"] = (torch.zeros_like(self.empty) if waiting is None else waiting == WAITS).sum()
        return figures


def of_every_shape(work: Mapping[Shape, Callable[[], T]]) -> list[T]:
    """Do the work of every shape and return the results. One error names the unexplained examples of all shapes."""
    done, lost = [], dict[Shape, InfeasibleAnswer]()
    for shape, each in work.items():
        try:
            done.append(each())
        except InfeasibleAnswer as error:
            lost[shape] = error
    if len(lost) > 1:
        words = (f"shape {shape}: {str(error.args[0]).rstrip(' .')}" for shape, error in lost.items())
        places = sorted(place for error in lost.values() for place in error.examples)
        raise InfeasibleAnswer(f"{'; '.join(words)}. ", *REMEDY, examples=tuple(places))
    for alone in lost.values():
        raise alone
    return done


def summed_up(parts: Sequence[Unexplained], history: list[Json]) -> Json:
    """The summary's entries about unexplained examples, with the positions of the first ones."""
    last: Json = history[-1] if history else {}
    found: Json = {name: last[name] for name in ("unexplained", "unstarted") if name in last}
    if any(part.found for part in parts):
        found["unexplained_examples"] = sorted(place for part in parts for place in part.found)[:NAMED]
    return found
