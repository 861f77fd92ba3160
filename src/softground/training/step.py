r"""One training step, from a batch of inputs to its loss.

A **teacher** provides a target distribution q over the symbols of each site. The softened grounding takes it from S_y,
Stage II from the network's own feasible predictions, direct supervision from labels. The loss is the cross-entropy

.. math:: \ell(\theta) = - \frac{1}{|C|} \sum_{b,i} w_{b,i} \sum_s q_{b,i}(s) \log P_\theta(z_{b,i} = s | x_b)
          + \sum_j \ell_j(\theta), \qquad C = \{(b, i) : w_{b,i} > 0\} ,

where the weight :math:`w_{b,i}` of a site is 1, or 0 if the site is not trained on, unless a term changes it. The q of
a known symbol is one-hot, whatever the teacher says. A **term** overrides the hook of one phase of the step, so the
order of terms makes no difference:

========  =========================================================  ==============================
hook      purpose                                                    example
========  =========================================================  ==============================
inputs    give the network more inputs                               labelled images of one symbol
evidence  change the belief that the teacher uses                    a prior on symbols
weigh     change how much the sites of an example count              answers that may be wrong
loss      add to the loss                                            a prior on how often symbols are used
========  =========================================================  ==============================

Stages hold teachers and terms as descriptions. ``begin`` returns instances for one data set, so two learners with the
same stages share nothing. The training loop owns the memory of the examples, such as their chains, and saves it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..dice import Dice
from ..errors import InfeasibleAnswer, LearnerError
from ..inverses.base import coded
from ..registry import Registry
from ..task import Task

Memory = dict[str, Tensor]
"""The state that a run keeps for its examples, by name: one row per example."""

CHAINS = "chains"
"""The name in :data:`Memory` of the examples' chains ``[examples, sites]``."""

GROUNDED = "grounded_symbols"
"""The name of a figure: the share of grounded symbols that are correct."""


@dataclass(frozen=True)
class Moment:
    """Where in training a batch stands."""

    stage: int = 0  # its number
    epoch: int = 0  # passes over the data since the stage began, except those in which its schedule waits
    share: float = 0.0  # completed share of the stage, from 0 to 1
    begun: float = 0.0  # that share when the epoch began
    history: Sequence[Mapping[str, Any]] = ()  # one record per epoch so far


def fading(share: float) -> float:
    """A weight that is 1 for half of a stage, falls linearly, and is 0 in the last quarter."""
    return min(1.0, max(0.0, 3 - 4 * share))


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """The training examples, as teachers and terms see them."""

    task: Task
    y: Tensor  # encoded answers
    known: Tensor | None = None  # codes of known symbols ``[examples, sites]``, −1 where unknown
    memory: Memory = field(default_factory=dict)  # of the teacher
    process: tuple[int, int] = (0, 1)  # the number of this process, and the number of processes


def _alone(value: Tensor) -> Tensor:
    return value


def untimed(part: str) -> None:
    """Time nothing."""


@dataclass(eq=False)
class Batch:
    """The inputs of a step, and its intermediate results."""

    task: Task
    x: Any  # inputs, one row per example; terms may add rows
    index: Tensor  # [batch] rows of these examples in the training set
    answers: Tensor  # encoded, as plain numbers
    dice: Dice
    moment: Moment = Moment()  # frozen
    known: Tensor | None = None  # codes of known symbols, −1 where unknown
    symbols: Tensor | None = None  # true symbols, if the data have them; only supervision learns from them
    memory: Memory = field(default_factory=dict)  # of all examples; the rows of this batch are its ``index``
    places: Callable[[Tensor], Tensor] = _alone  # positions of examples in the user's data set, for messages
    order: torch.Generator | None = None  # for draws that do not depend on the device
    counts: float = 1.0  # 0 in a process without examples, which still takes part in the step
    processes: int = 1  # number of processes; each has its own examples
    total: Callable[[Tensor], Tensor] = _alone  # the sum over all processes, off the tape
    unknown: float = 1.0  # symbols of the training set over unknown ones
    lap: Callable[[str], None] = untimed  # ends a timed part of the step

    # Made by the step, in this order.
    added: dict[Term, tuple[slice, Tensor]] = field(default_factory=dict)  # rows and codes after ``x``
    output: Any = None  # of the network
    outputs: Any = None  # the belief about all rows of ``x``
    belief: Any = None  # P(z|x) of the examples, on the gradient tape: it learns
    reading: Any = None  # the same off the tape
    informed: Any = None  # the reading, given the known symbols
    evidence: Any = None  # the informed belief after the terms' changes, which the teacher uses
    weight: Tensor = field(init=False, repr=False)  # w, [batch, sites]
    taught: Tensor | None = None  # positions in the batch of the examples with a target; None: all
    losses: list[Tensor] = field(default_factory=list)  # of terms
    visits: float | None = None  # total sites of all parts, if the teacher works part by part
    figures: dict[str, Tensor] = field(default_factory=dict)  # per example, to be averaged over the epoch
    read: Any = None  # the most probable symbols of each example

    @property
    def y(self) -> Tensor:
        """The encoded answers as codes: ``batch.task.inverse.law(Target(belief, batch.y, 1.0))``."""
        return coded(self.task.inverse, self.answers)

    def add(self, term: Term, x: Tensor, codes: Tensor) -> None:
        """Append inputs whose symbols are known."""
        whole = self.x[:]  # also materialises images that recur
        self.added[term] = slice(len(whole), len(whole) + len(x)), codes
        self.x = torch.cat([whole, x.to(whole.dtype)])

    def given(self, belief: Any) -> Any:
        """A belief about the examples, given their known symbols."""
        return belief if self.known is None else belief.given(self.known, fits=True)

    def scale(self, weight: Tensor) -> None:
        """Multiply each example's weight by ``weight[batch]``; known symbols keep theirs."""
        each = weight[:, None].to(self.weight.dtype)
        self.weight = self.weight * (each if self.known is None else torch.where(self.known < 0, each, 1.0))

    def mean(self, value: Tensor) -> Tensor:
        """The mean of ``value[batch, …]`` over the examples of all processes.

        Its slope is multiplied by the number of processes, because each process adds only its share of the loss.
        """
        if self.processes == 1:
            return value.mean(0)
        own = value.sum(0) * self.counts
        whole = self.total(own.detach()) + self.processes * (own - own.detach())
        return whole / self.total(torch.tensor(len(value) * self.counts, device=value.device))

    def note_grounded(self, taught: Tensor) -> None:
        """Record the share of unknown symbols whose target is correct, for states or distributions."""
        rows = slice(None) if self.taught is None else self.taught
        if self.symbols is None or not self.task.space.categorical:  # reals are never exactly correct
            return
        symbols = self.symbols[rows]
        correct = taught.gather(2, symbols[..., None]).squeeze(2) if taught.dim() == 3 else (taught == symbols).float()
        if self.known is not None:
            correct = correct * (self.known[rows] < 0) * self.unknown
        self.figures[GROUNDED] = correct.mean(1)

    def located(self, error: InfeasibleAnswer) -> Exception:
        """Convert an error about rows of this batch to one that names examples of the data set."""
        lost = torch.tensor(error.examples, device=self.index.device)
        lost = lost if self.taught is None else self.taught[lost]
        return self.task.infeasible(self.answers[lost], self.places(self.index[lost]).tolist())


class Teacher(ABC):
    """Provides the network's targets. A stage holds one as a description: it has no task and never changes."""

    weak: ClassVar[bool] = True  # whether it learns from answers
    sums: ClassVar[bool] = False  # whether it sums over S_y, or samples it
    open: bool = False  # whether the learner chooses the inverse and its settings before ``begin``

    def __call__(self, *given: Any, **named: Any) -> Any:
        raise LearnerError(
            f"{type(self).__name__} is an objective for a Stage, not a loss function. In your own loop, write "
            "loss = softground.GroundingLoss(task, answers=y_train), and then loss(logits, index=rows)."
        )

    def begin(self, task: Task) -> Teacher:
        """The teacher of one task; by default this one."""
        return self

    def remember(self, train: TrainingSet, seed: int) -> Memory:
        """The initial memory: tensors by name, one row per example."""
        return {}

    @abstractmethod
    def teach(self, batch: Batch) -> Tensor | None:
        """The targets, from ``batch.evidence`` and the answers, off the gradient tape.

        Distributions ``[batch, sites, K]``, or states ``[batch, sites]``; for reals, means. A teacher with its own loss
        appends that to ``batch.losses`` and returns None.
        """

    def numbers(self, moment: Moment) -> dict[str, float]:
        """The settings that the loss depends on now, such as γ, for the epoch's record."""
        return {}


class Term:
    """An addition to one phase of a training step. It is immutable."""

    def serves(self, teacher: Teacher) -> bool:
        """Whether the term applies to this teacher."""
        return True

    def begin(self, train: TrainingSet) -> Term:
        """The term for one data set; by default this one."""
        return self

    def numbers(self, moment: Moment) -> dict[str, float]:
        """The settings that the term depends on now, such as a weight, for the epoch's record."""
        return {}

    def inputs(self, batch: Batch) -> None:
        """Before the network runs: change or add inputs."""

    def evidence(self, batch: Batch) -> None:
        """Before the teacher: change ``batch.evidence``."""

    def weigh(self, batch: Batch) -> None:
        """Before the teacher: change ``batch.weight``."""

    def loss(self, batch: Batch) -> None:
        """After the teacher: append to ``batch.losses``."""


OBJECTIVES: Registry[Callable[..., Teacher]] = Registry("objective")
"""Teachers by name; each takes its own settings, all of which have defaults."""


Half = Callable[[Batch, Teacher, Sequence[Term]], Tensor]
"""The second half of a step: from the network's output to the loss."""


def step(
    batch: Batch, network: Callable[[Any], Any], teacher: Teacher, terms: Sequence[Term] = (), half: Half | None = None
) -> Tensor:
    """The loss of a batch. The batch also keeps intermediate results and figures for the epoch's record.

    A ``half`` replaces :func:`lesson`: a GPU's recording of it, or one lesson for each member of an ensemble.
    """
    for term in terms:
        term.inputs(batch)
    batch.output = network(batch.x)
    batch.lap("network")
    loss = (half or lesson)(batch, teacher, terms)
    batch.lap("sampling" if teacher.weak else "network")
    return loss


def lesson(batch: Batch, teacher: Teacher, terms: Sequence[Term] = ()) -> Tensor:
    """The second half of a step, which uses the answers: from the network's output to the loss."""
    batch.outputs = batch.task.space.belief(batch.output, finite=True)
    loss = learn(batch, teacher, terms)
    batch.read = batch.reading.mode()
    return loss


def learn(batch: Batch, teacher: Teacher, terms: Sequence[Term] = ()) -> Tensor:
    """The loss of a batch, given the network's beliefs ``batch.outputs``."""
    batch.belief = batch.outputs.rows(slice(len(batch.index))) if batch.added else batch.outputs
    batch.reading = batch.belief.detach()
    batch.evidence = batch.informed = batch.reading if batch.known is None else batch.given(batch.reading)
    batch.weight = torch.full((len(batch.index), batch.task.space.sites), batch.counts, device=batch.index.device)
    for term in terms:
        term.evidence(batch)
    for term in terms:
        term.weigh(batch)
    try:
        with torch.no_grad():
            taught = teacher.teach(batch)
    except InfeasibleAnswer as error:  # its rows are those of the taught examples
        raise batch.located(error) from error
    if batch.taught is not None:  # the other examples do not count
        batch.scale(torch.zeros(len(batch.index), device=batch.index.device).index_fill(0, batch.taught, 1.0))
        if taught is not None:
            taught = taught.new_zeros(len(batch.index), *taught.shape[1:]).index_copy(0, batch.taught, taught)
    for term in terms:
        term.loss(batch)
    shown = losses = sum(batch.losses, torch.zeros((), device=batch.index.device))
    if taught is not None or batch.known is not None:
        sites = batch.weight.shape[1]
        size = batch.visits or sites  # of one example, to divide its loss by
        each = torch.zeros_like(batch.weight) if taught is None else batch.belief.expected(taught)
        if batch.known is not None:  # known symbols are trained on whatever the teacher says
            labels = batch.belief.site_scores(batch.known.clamp(min=0)) * (size / sites)
            each = torch.where(batch.known < 0, each, labels)
        counts = batch.weight > 0
        number = counts.sum() if batch.processes == 1 else batch.total(counts.sum())
        examples = number.clamp(min=1) / sites  # with weight; an example with half of its sites counts as a half
        losses = losses + (each * batch.weight).sum() / examples / -size
        shown = shown + (each.detach() * counts).sum() / examples / -size
    shown = shown.detach() if batch.processes == 1 else batch.total(shown.detach())
    batch.figures["loss"] = shown.expand(len(batch.index))
    return losses * batch.processes  # because gradients are averaged over processes
