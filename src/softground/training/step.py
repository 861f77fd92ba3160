r"""One training step, from a batch of inputs to the loss that is descended.

A **teacher** says what the network should read: a distribution q over the symbols of each site. The softened grounding
takes it from S_y, Stage II from the network's own feasible predictions, direct supervision from labels. The loss is the
cross-entropy with it,

.. math:: \ell(\theta) = - \frac{1}{|C|} \sum_{b,i} w_{b,i} \sum_s q_{b,i}(s) \log P_\theta(z_{b,i} = s | x_b)
          + \sum_j \ell_j(\theta), \qquad C = \{(b, i) : w_{b,i} > 0\} ,

where the weight :math:`w_{b,i}` of a site is 1, or 0 where nothing is to be learnt, or what a term makes of it. A known
symbol is its own q, whatever the teacher says. A **term** takes part in one phase of the step, by overriding the hook
of that phase, so that the order of terms makes no difference:

========  =========================================================  ==============================
hook      what a term may do                                         such as
========  =========================================================  ==============================
inputs    give the network more inputs                               labelled images of one symbol
evidence  change the belief that the teacher goes by                 a prior on symbols
weigh     change how much the sites of an example count              answers that may be wrong
loss      add to the loss                                            a prior on how often symbols are used
========  =========================================================  ==============================

Stages hold teachers and terms as descriptions. ``begin`` gives those that train on one data set, so that two learners
with the same stages share nothing. What is remembered of every example, such as its chain, belongs to the training
loop, which saves it with the run.
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
"""What a run remembers of its examples, by name: one row per example."""

CHAINS = "chains"
"""The name under which a teacher remembers the examples' groundings ``[examples, sites]``, if it walks."""

GROUNDED = "grounded_symbols"
"""The name of the figure that says how much of what is grounded is correct."""


@dataclass(frozen=True)
class Moment:
    """Where in training a batch stands."""

    stage: int = 0  # its number
    epoch: int = 0  # passes over the data since the stage began, without those in which its schedule stands still
    share: float = 0.0  # of the stage that is over, from 0 to 1
    begun: float = 0.0  # the same when the epoch began
    history: Sequence[Mapping[str, Any]] = ()  # one record per epoch so far


def fading(share: float) -> float:
    """A weight that is 1 for half of a stage, then falls along a line, and is 0 in the last quarter."""
    return min(1.0, max(0.0, 3 - 4 * share))


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """What a teacher or a term may know of the examples that it is to train on."""

    task: Task
    y: Tensor  # encoded answers
    known: Tensor | None = None  # codes of known symbols ``[examples, sites]``, −1 where unknown
    memory: Memory = field(default_factory=dict)  # of the teacher
    process: tuple[int, int] = (0, 1)  # the number of this process, and how many there are


def _alone(value: Tensor) -> Tensor:
    return value


def untimed(part: str) -> None:
    """Time nothing."""


@dataclass(eq=False)
class Batch:
    """What a step is given, and what becomes of it."""

    task: Task
    x: Any  # inputs, one row per example; terms may add rows
    index: Tensor  # [batch] rows of these examples in the training set
    answers: Tensor  # encoded, as plain numbers
    dice: Dice
    moment: Moment = Moment()  # frozen
    known: Tensor | None = None  # codes of known symbols, −1 where unknown
    symbols: Tensor | None = None  # true symbols where there are any; only supervision learns from them
    memory: Memory = field(default_factory=dict)  # of all examples; the rows of this batch are its ``index``
    places: Callable[[Tensor], Tensor] = _alone  # where examples stand in the user's data set, for messages
    order: torch.Generator | None = None  # for draws that do not depend on the device
    counts: float = 1.0  # 0 in a process that has no example of the batch, and only keeps step
    processes: int = 1  # that train together, each with examples of its own
    total: Callable[[Tensor], Tensor] = _alone  # the sum over all processes, off the tape
    unknown: float = 1.0  # symbols of the training set over those that are unknown
    lap: Callable[[str], None] = untimed  # ends a part of the step that is timed

    # Made by the step, in this order.
    added: dict[Term, tuple[slice, Tensor]] = field(default_factory=dict)  # rows and codes after ``x``
    output: Any = None  # of the network
    outputs: Any = None  # the belief about all rows of ``x``
    belief: Any = None  # P(z|x) of the examples, on the gradient tape: it learns
    reading: Any = None  # the same off the tape
    informed: Any = None  # the reading, given the known symbols
    evidence: Any = None  # what the teacher goes by: the same, as terms have changed it
    weight: Tensor = field(init=False, repr=False)  # w, [batch, sites]
    taught: Tensor | None = None  # positions in the batch of what the teacher teaches; None: of all
    losses: list[Tensor] = field(default_factory=list)  # of terms
    visits: float | None = None  # sites of all parts of a rule together, where it is taught part by part
    figures: dict[str, Tensor] = field(default_factory=dict)  # per example, to be averaged over the epoch
    read: Any = None  # the most probable symbols of each example

    @property
    def y(self) -> Tensor:
        """The encoded answers, as a law takes them: ``batch.task.inverse.law(Target(belief, batch.y, 1.0))``."""
        return coded(self.task.inverse, self.answers)

    def add(self, term: Term, x: Tensor, codes: Tensor) -> None:
        """Put further inputs, whose symbols are known, after those of the examples."""
        whole = self.x[:]  # of images that recur, too
        self.added[term] = slice(len(whole), len(whole) + len(x)), codes
        self.x = torch.cat([whole, x.to(whole.dtype)])

    def given(self, belief: Any) -> Any:
        """A belief about the examples, given their known symbols."""
        return belief if self.known is None else belief.given(self.known, fits=True)

    def scale(self, weight: Tensor) -> None:
        """Multiply the weights by one per example, ``[batch]``. What is known counts as before."""
        each = weight[:, None].to(self.weight.dtype)
        self.weight = self.weight * (each if self.known is None else torch.where(self.known < 0, each, 1.0))

    def mean(self, value: Tensor) -> Tensor:
        """The mean of ``value[batch, …]`` over the examples of all processes.

        A term adds its share of a loss, one over the number of processes, and so the slope is that number times larger.
        """
        if self.processes == 1:
            return value.mean(0)
        own = value.sum(0) * self.counts
        whole = self.total(own.detach()) + self.processes * (own - own.detach())
        return whole / self.total(torch.tensor(len(value) * self.counts, device=value.device))

    def note_grounded(self, taught: Tensor) -> None:
        """Note how much of the unknown symbols is taught correctly, by states or by distributions."""
        rows = slice(None) if self.taught is None else self.taught
        if self.symbols is None or not self.task.space.categorical:  # reals are never exactly correct
            return
        symbols = self.symbols[rows]
        right = taught.gather(2, symbols[..., None]).squeeze(2) if taught.dim() == 3 else (taught == symbols).float()
        if self.known is not None:
            right = right * (self.known[rows] < 0) * self.unknown
        self.figures[GROUNDED] = right.mean(1)

    def located(self, error: InfeasibleAnswer) -> Exception:
        """An error about rows of this batch, as one that names the examples of the data set."""
        lost = torch.tensor(error.examples, device=self.index.device)
        lost = lost if self.taught is None else self.taught[lost]
        return self.task.infeasible(self.answers[lost], self.places(self.index[lost]).tolist())


class Teacher(ABC):
    """Says what the network should read. A stage holds one as a description: it knows no task, and never changes."""

    weak: ClassVar[bool] = True  # whether it learns from answers
    sums: ClassVar[bool] = False  # whether it sums over S_y, or samples it
    open: bool = False  # whether a learner is to choose the inverse, and what goes with it, before ``begin``

    def __call__(self, *given: Any, **named: Any) -> Any:
        raise LearnerError(
            f"{type(self).__name__} is an objective for a Stage, and no loss to call. In a loop of your own write "
            "loss = softground.GroundingLoss(task, answers=y_train), and then loss(logits, index=rows)."
        )

    def begin(self, task: Task) -> Teacher:
        """The teacher of one task; by default this one."""
        return self

    def remember(self, train: TrainingSet, seed: int) -> Memory:
        """What to remember of the examples: tensors by name, one row per example."""
        return {}

    @abstractmethod
    def teach(self, batch: Batch) -> Tensor | None:
        """What the network learns from ``batch.evidence`` and the answers, off the gradient tape.

        Distributions ``[batch, sites, K]``, or states ``[batch, sites]``; for reals, means. A teacher with a loss of
        its own appends that to ``batch.losses`` instead, and returns None.
        """

    def numbers(self, moment: Moment) -> dict[str, float]:
        """The numbers from Python that the loss depends on, such as γ; every epoch's record has them."""
        return {}


class Term:
    """Takes part in one phase of a training step, whatever the teacher. It never changes itself."""

    def serves(self, teacher: Teacher) -> bool:
        """Whether it takes part where this teacher teaches."""
        return True

    def begin(self, train: TrainingSet) -> Term:
        """The term for one data set; by default this one."""
        return self

    def numbers(self, moment: Moment) -> dict[str, float]:
        """The numbers from Python that the term depends on, such as a weight; every epoch's record has them."""
        return {}

    def inputs(self, batch: Batch) -> None:
        """Before the network reads the inputs."""

    def evidence(self, batch: Batch) -> None:
        """Before the teacher looks: change ``batch.evidence``."""

    def weigh(self, batch: Batch) -> None:
        """Before the teacher looks: change ``batch.weight``."""

    def loss(self, batch: Batch) -> None:
        """After the teacher: append to ``batch.losses``."""


OBJECTIVES: Registry[Callable[..., Teacher]] = Registry("objective")
"""Teachers by name; each takes its own settings, all of which have defaults."""


Half = Callable[[Batch, Teacher, Sequence[Term]], Tensor]
"""The second half of a step, from the network's output on."""


def step(
    batch: Batch, network: Callable[[Any], Any], teacher: Teacher, terms: Sequence[Term] = (), half: Half | None = None
) -> Tensor:
    """The loss of a batch. The batch then holds what was made on the way, and its figures for the epoch's record.

    Another second ``half`` may take the place of :func:`lesson`: a GPU's recording of it, or one lesson for each member
    of an ensemble.
    """
    for term in terms:
        term.inputs(batch)
    batch.output = network(batch.x)
    batch.lap("network")
    loss = (half or lesson)(batch, teacher, terms)
    batch.lap("sampling" if teacher.weak else "network")
    return loss


def lesson(batch: Batch, teacher: Teacher, terms: Sequence[Term] = ()) -> Tensor:
    """The second half of a step, from the network's output on: all that the answers have to do with."""
    batch.outputs = batch.task.space.belief(batch.output, finite=True)
    loss = learn(batch, teacher, terms)
    batch.read = batch.reading.mode()
    return loss


def learn(batch: Batch, teacher: Teacher, terms: Sequence[Term] = ()) -> Tensor:
    """The loss of a batch about which the network has its beliefs."""
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
    except InfeasibleAnswer as error:  # which knows the rows that were taught
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
        size = batch.visits or sites  # of one example, which its loss is divided by
        each = torch.zeros_like(batch.weight) if taught is None else batch.belief.expected(taught)
        if batch.known is not None:  # it is learnt whatever the teacher says
            labels = batch.belief.site_scores(batch.known.clamp(min=0)) * (size / sites)
            each = torch.where(batch.known < 0, each, labels)
        counts = batch.weight > 0
        number = counts.sum() if batch.processes == 1 else batch.total(counts.sum())
        examples = number.clamp(min=1) / sites  # that count, half of one as a half
        losses = losses + (each * batch.weight).sum() / examples / -size
        shown = shown + (each.detach() * counts).sum() / examples / -size
    shown = shown.detach() if batch.processes == 1 else batch.total(shown.detach())
    batch.figures["loss"] = shown.expand(len(batch.index))
    return losses * batch.processes  # because gradients are averaged over processes
