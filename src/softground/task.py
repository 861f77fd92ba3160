r"""A task: symbols, a rule, and how S_y is found; and a family of tasks, which one network reads.

**Families.** A shape is a length, a layout or a rule: examples of different shapes have different spaces or rules.
Every shape :math:`k` has its own space, rule and :math:`S_y`; all share the network's weights θ, and the loss is

.. math:: \ell(\theta) = \frac{1}{N} \sum_k \sum_{j=1}^{N_k} \ell_k(x_j, y_j; \theta) .

A batch is drawn from one shape, so there is no padding.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic

from torch import Tensor
from typing_extensions import TypeVar

from .constraints.base import Constraint
from .errors import ConstraintError, InfeasibleAnswer, Setting, SoftgroundError
from .inverses.base import Inverse
from .inverses.enumeration import default_inverse
from .inverses.ladder import Budget, Choice, climb
from .inverses.listing import Listing
from .metrics import accuracies
from .notebook import as_html, task_facts
from .spaces.base import Space

if TYPE_CHECKING:
    from .layer.answer_codes import AnswerCodes
    from .layer.posterior import Posterior

S = TypeVar("S", bound=Space, default=Any)
Metrics = Callable[[Tensor, Tensor, Tensor | None], dict[str, float]]
Shape = Hashable
"""The shape of an example, such as its number of sites; None for a task outside a family."""


@dataclass
class _Way:
    """A task's inverse: the first one, until :meth:`Task.settle` chooses another."""

    first: Inverse
    open: bool  # whether it is the rule's default, which another may replace
    choice: Choice | None = None


@dataclass(frozen=True, eq=False, init=False)
class Task(Generic[S]):
    """A learning problem: symbols in ``space``, tied to answers by ``constraint``. It is immutable.

    Parameters
    ----------
    space
        The symbol vectors.
    constraint
        The rule.
    inverse
        The method for fibres. The default depends on the rule: a table of a small space, else enumeration of the
        dropped sites; the recursion of a scan; Z3 for a Z3 formula. A learner knows the answers and may choose a better
        one (:mod:`softground.inverses.ladder`); ``choice`` then gives it and the reason.
    metrics
        ``metrics(predicted, feasible, symbols) -> {name: value}`` for reports; ``symbols`` are the true codes, if
        known. The default gives ``answer_accuracy`` and, if symbols are known, ``symbol_accuracy``. Reports show values
        whose name ends in ``_accuracy`` in percent. At the end of a run every task also has F1, collapse and
        calibration error of symbols (:mod:`softground.learner.evaluation`).
    budget
        The limits for the choice of an inverse.
    nameless_symbols
        Whether the rule determines symbols only up to a renaming; reports then use the best renaming.
    detects
        An answer, such as ``True``, to detect by its probability. Reports then have ``answer_auroc``. It needs an exact
        inverse.

    >>> from softground import Categorical, Program
    >>> space = Categorical([range(10), range(10)])
    >>> Task(space, Program(lambda a, b: a + b, space)).inverse
    Table(100 states, 19 answers, 600 B)
    """

    space: S
    constraint: Constraint
    metrics: Metrics
    name: str
    nameless_symbols: bool
    detects: object
    budget: Budget
    _way: _Way = field(repr=False)

    def __init__(
        self,
        space: S,
        constraint: Constraint,
        inverse: Inverse | None = None,
        metrics: Metrics = accuracies,
        name: str = "task",
        nameless_symbols: bool = False,
        detects: object = None,
        budget: Budget | None = None,
        _way: _Way | None = None,
    ) -> None:
        if not isinstance(constraint, Constraint):
            raise SoftgroundError(
                f"{constraint!r} was given as a rule; expected a constraint: Program(function, space) for a "
                "function of the symbols, SMT or CPMpy for formulas."
            )
        if getattr(constraint, "space", space) is not space:
            raise SoftgroundError("The rule was built for another space than the task's; give both the same object.")
        if isinstance(inverse, str | type):
            raise SoftgroundError.of(
                {"inverse": inverse}, "expected an Inverse, such as Table(rule), or None for a default."
            )
        if inverse is None and _way is not None and _way.first.constraint is constraint:  # dataclasses.replace
            way = _Way(_way.first, _way.open)
        elif inverse is None:
            way = _Way(default_inverse(constraint, space), open=space.categorical)
        else:
            way = _Way(_with_rule(inverse, constraint), open=False)
        given = (space, constraint, metrics, name, nameless_symbols, detects, budget or Budget(), way)
        for part, value in zip(fields(Task), given, strict=True):
            object.__setattr__(self, part.name, value)

    @property
    def inverse(self) -> Inverse:
        """The inverse: the given one, the default, or the choice of :meth:`settle`."""
        return self._way.first if self._way.choice is None else self._way.choice.inverse

    @property
    def choice(self) -> Choice | None:
        """The choice of :meth:`settle`, with its reason."""
        return self._way.choice

    @cached_property
    def answer_codes(self) -> AnswerCodes:
        """The codes of the user's answers, for :meth:`posterior`."""
        from .layer.answer_codes import AnswerCodes

        return AnswerCodes(self)

    def posterior(
        self, logits: object, answers: object = None, *, gamma: float = 1.0, known: object = None
    ) -> Posterior:
        """P(z|x, y) as a distribution of PyTorch, from ``logits[rows, sites, symbols]`` and the user's own answers.

        Answers may be a list, a tensor, an array or a series, and may contain relations and None. ``known`` symbols are
        as in :class:`~softground.Examples`. For one input ``[sites, symbols]``, give its answer.
        """
        from .layer.posterior import Posterior

        return Posterior(self.answer_codes, logits, answers, gamma=gamma, known=known)

    def log_prob(self, logits: object, answers: object = None, *, known: object = None) -> Tensor:
        """log P(y|x) of every row, differentiable; with known symbols, log P(y, known|x)."""
        return self.posterior(logits, answers, known=known).log_mass

    def _repr_html_(self) -> str:
        return as_html("Task", task_facts(self))

    @property
    def open(self) -> bool:
        """Whether a learner may choose the inverse."""
        return self._way.open

    def settle(self, y: Tensor, rung: str | None = None) -> Choice | None:
        """Choose the best inverse for the encoded answers ``y``, or that of a ``rung``; None if one was given."""
        if self._way.open:
            self._way.choice = climb(self._way.first, y, self.budget, rung)
        return self._way.choice

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Whether z ∈ S_y, by the inverse, which may be faster than the rule (a table: one look-up)."""
        states, held = self._held(z)
        return self.inverse.feasible(states, y) & held

    def explained(self, z: Tensor, y: Tensor) -> Tensor:
        """:meth:`feasible` for readings. If none is feasible, an answer of the wrong type is an error."""
        fine = self.feasible(z, y)
        if len(y) and not bool(fine.any()):
            misfit = ""
            with suppress(ConstraintError, IndexError):  # a rule may know few states, and y may not be from encode
                misfit = self.constraint.misfit(y[0])
            if misfit:
                raise self.infeasible(y[:1], [0])
        return fine

    def admissible(self, z: Tensor) -> Tensor:
        """Whether z has any answer."""
        states, held = self._held(z)
        return self.constraint.admissible(states) & held

    def compute(self, z: Tensor) -> list[Any]:
        """The answer of each state, or None, for a rule that computes answers."""
        states, held = self._held(z)
        return [a if here else None for a, here in zip(self.constraint.compute(states), held.tolist(), strict=True)]

    def _held(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """z, with valid states in place of readings outside the space, which rules must not see; and the valid rows."""
        held = self.space.holds(z)
        return (z * held[:, None] if self.space.mixed else z), held

    def reward(self, z: Tensor, y: Tensor) -> Tensor:
        """The reward of each z in reinforcement learning, ``[batch]``: 1 if z ∈ S_y, else 0, unless overridden."""
        return self.feasible(z, y).double()

    def computed(self, z: Tensor) -> list[Any] | None:
        """:meth:`compute`; None if the rule only checks answers."""
        try:
            return self.compute(z)
        except ConstraintError:
            return None

    def infeasible(self, y: Tensor, examples: Sequence[int], *reason: str | Setting) -> ConstraintError:
        """The error that names these ``examples`` of a data set, whose encoded answers ``y`` have no explanation."""
        for example, answer in zip(examples, y, strict=True):
            if found := self.constraint.misfit(answer):
                return ConstraintError(
                    f"the answer {self.constraint.answer(answer)!r} is {found}. Give answers of that type, or correct "
                    "the rule.",
                    example=example,
                )
        shown = ", ".join(f"{i} (answer {self.constraint.answer(a)!r})" for i, a in zip(examples[:5], y, strict=False))
        return InfeasibleAnswer(
            f"{len(examples)} example(s) are infeasible: {shown}{' …' if len(examples) > 5 else ''}. ",
            *(reason or ("No symbols explain the answer: S_y is empty. Correct or remove these examples.",)),
            examples=tuple(examples),
        )

    def contradicted(self, y: Tensor, examples: Sequence[int]) -> ConstraintError:
        """The error for examples whose known symbols contradict the answer."""
        return self.infeasible(
            y,
            examples,
            "The known symbols contradict the answer. Correct the answers or the known symbols of these examples.",
        )

    def figures(self, predicted: Tensor, y: Tensor, symbols: Tensor | None) -> dict[str, float]:
        """The metrics of predictions; a task whose metrics need the answers themselves overrides this."""
        values: Any = self.metrics(predicted, self.explained(predicted, y), symbols)
        if not isinstance(values, Mapping):
            raise SoftgroundError(f"The task's metrics gave {values!r}; expected numbers by name, {{name: value}}.")
        return {name: value.item() if hasattr(value, "item") else value for name, value in values.items()}


def _with_rule(inverse: Inverse, rule: Constraint) -> Inverse:
    """The inverse; for a listing without a rule, a copy that has this one."""
    if not isinstance(inverse, Listing) or hasattr(inverse, "constraint"):
        return inverse
    twin = copy(inverse)
    twin.constraint = rule
    return twin


def as_task(rule: object) -> Task:
    """Return a task as it is, or make one of a rule with a space."""
    if isinstance(rule, Task):
        return rule
    if not isinstance(rule, Constraint) or (space := getattr(rule, "space", None)) is None:
        raise SoftgroundError(f"A rule {rule!r} was given; expected a Task, or a rule with a space such as a Program.")
    return Task(space, rule)


class Family:
    """Tasks that share one network, by shape.

    Parameters
    ----------
    tasks
        A task for each shape, or a function that makes the task of a shape. The shape of an example is its number of
        sites, unless the data set says otherwise (:class:`~softground.data.Ragged`).
    shapes
        The shapes to train on, if ``tasks`` is a function. Other shapes call it when they are first read.

    >>> from softground import Categorical, Program
    >>> def total(sites):
    ...     space = Categorical([range(10)] * sites)
    ...     return Task(space, Program(lambda *digits: sum(digits), space), name="sums")
    >>> family = Family(total, [2, 3])
    >>> family, family[4].space.sites
    (Family(sums: 2, 3), 4)
    """

    def __init__(
        self, tasks: Mapping[Any, Task] | Callable[[Any], Task], shapes: Iterable[Shape] | None = None
    ) -> None:
        if isinstance(tasks, Mapping) is (shapes is not None):
            raise SoftgroundError(
                "A family is made from a dict of tasks by shape, or from a function of the shape and the shapes: "
                "Family({2: two, 3: three}) or Family(make, [2, 3])."
            )
        self._make = None if isinstance(tasks, Mapping) else tasks
        self.tasks: dict[Any, Task] = {}
        self._others: dict[Any, Task] = {}
        if shapes is not None and hasattr(shapes, "tolist"):  # an array's or a tensor's entries are not plain numbers
            shapes = shapes.tolist()
        for shape in shapes if shapes is not None else tasks:  # type: ignore[union-attr]
            if shape in self.tasks:
                raise SoftgroundError(f"The shape {shape!r} was given twice; give each once.")
            self.tasks[shape] = self._fitting(shape, tasks[shape] if isinstance(tasks, Mapping) else tasks(shape))
        names = [str(shape) for shape in self.tasks]
        bad = any("/" in name or not name for name in names) or None in self.tasks
        if not names or len(set(names)) != len(names) or bad:
            raise SoftgroundError(
                f"A family of the shapes {names} was given; expected at least one, not None, with different names that "
                "are not empty and have no '/'."
            )

    def __getitem__(self, shape: object) -> Task:
        """The task of a shape."""
        if shape in self.tasks:
            return self.tasks[shape]
        if self._make is None:
            raise SoftgroundError(f"No task serves the shape {shape!r}; the family has {self}.")
        if shape not in self._others:
            self._others[shape] = self._fitting(shape, self._make(shape))
        return self._others[shape]

    def serves(self, shape: object) -> bool:
        """Whether examples of this shape can be read."""
        return shape in self.tasks or self._make is not None

    @property
    def name(self) -> str:
        """The first task's name."""
        return next(iter(self.tasks.values())).name

    def __repr__(self) -> str:
        return f"Family({self.name}: {', '.join(map(str, self.tasks))})"

    def _fitting(self, shape: object, task: Task) -> Task:
        """Return the task if one network can read its space and the first one's; else raise."""
        if not isinstance(task, Task):
            raise SoftgroundError(f"The shape {shape!r} has a {type(task).__name__}; expected a Task.")
        first = next(iter(self.tasks.values()), task).space
        for name in ("categorical", "symbols", "head", "readings"):
            one, other = getattr(first, name, None), getattr(task.space, name, None)
            if one != other:
                raise SoftgroundError(
                    f"The shape {shape!r} has {name} {other!r}, and another shape has {one!r}; one network can only "
                    "read them all if they agree. Give every Categorical the same symbols: Categorical(…, symbols=…)."
                )
        return task
