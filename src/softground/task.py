"""A task: the bundle a user writes. Symbols, a rule, and how fibres are found."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from .constraints.base import Constraint
from .errors import ConstraintError, InfeasibleAnswer, SoftgroundError
from .inverses.base import Inverse
from .inverses.enumeration import default_inverse
from .inverses.ladder import Budget, Choice, climb
from .metrics import accuracies

Metrics = Callable[[Tensor, Tensor, Tensor | None], dict[str, float]]


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be learnt: symbols in ``space``, tied to answers by ``constraint``.

    Parameters
    ----------
    space
        The symbol vectors.
    constraint
        The rule.
    inverse
        How fibres are found. By default a table of the whole space where that is small, else enumeration of the
        dropped sites; the recursion of a scan; Z3 for a rule that is a Z3 formula. A learner, which knows the answers,
        takes what is better for them (:mod:`softground.inverses.ladder`); ``choice`` then says what and why.
    metrics
        ``metrics(predicted, feasible, symbols) -> {name: value}`` for reports; ``symbols`` are the true codes where
        known. The default gives ``answer_accuracy`` and, where symbols are known, ``symbol_accuracy``. Values whose
        name ends in ``_accuracy`` are shown in percent, all others as they are. At the end of a run every task has
        F1, collapse and calibration error of symbols as well (:mod:`softground.learner.evaluation`).
    budget
        What that may cost.
    nameless_symbols
        Whether the rule leaves symbols known only up to a renaming, so that reports compare them under the best one.
    detects
        An answer, such as ``True``, by whose probability examples that have it are to be told from the others; reports
        then have ``answer_auroc``. It needs an exact law.

    >>> from softground import Categorical, Program
    >>> space = Categorical([range(10), range(10)])
    >>> Task(space, Program(lambda a, b: a + b, space)).inverse
    Table(100 states, 19 answers, 600 B)
    """

    space: Any  # a Space; the rule, the kernel and the user know which
    constraint: Constraint
    inverse: Inverse = None  # type: ignore[assignment]  # resolved below
    metrics: Metrics = accuracies
    name: str = "task"
    nameless_symbols: bool = False
    detects: Any = None
    budget: Budget = field(default_factory=Budget)
    choice: Choice | None = field(default=None, init=False, repr=False)
    _own: Inverse | None = field(default=None, init=False, repr=False)  # the rule's, where no inverse was given

    def __post_init__(self) -> None:
        if not isinstance(self.constraint, Constraint):
            raise SoftgroundError(
                f"{self.constraint!r} was given as a rule; expected a constraint: Program(function, space) for a "
                "function of the symbols, SMT or CPMpy for formulas."
            )
        if getattr(self.constraint, "space", self.space) is not self.space:
            raise SoftgroundError("The rule was built for another space than the task's; give both the same object.")
        if self.inverse is None:
            object.__setattr__(self, "inverse", default_inverse(self.constraint, self.space))
            object.__setattr__(self, "_own", self.inverse if self.space.categorical else None)
        if isinstance(self.inverse, str | type):
            raise SoftgroundError(
                f"inverse={self.inverse!r} was given; expected an Inverse, such as Table(rule), or None for a default."
            )
        if isinstance(self.inverse, Inverse) and not hasattr(self.inverse, "constraint"):  # a listing needs no rule
            self.inverse.constraint = self.constraint

    def settle(self, y: Tensor, rung: str | None = None) -> Choice | None:
        """Take the inverse that serves the encoded answers ``y`` best, or that of a ``rung``; None if one was given."""
        if self._own is None:
            return None
        choice = climb(self._own, y, self.budget, rung)
        object.__setattr__(self, "choice", choice)
        object.__setattr__(self, "inverse", choice.inverse)
        return choice

    @property
    def open(self) -> bool:
        """Whether the inverse was left open, so that a learner chooses it."""
        return self._own is not None

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Whether z ∈ S_y, by the inverse where it knows faster than the rule (a table: a single look-up)."""
        states, held = self._held(z)
        return self.inverse.feasible(states, y) & held

    def explained(self, z: Tensor, y: Tensor) -> Tensor:
        """:meth:`feasible` for readings; where no answer is explained, one of the wrong type is an error."""
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
        """The answer that each state has, or None, for a rule that computes answers."""
        states, held = self._held(z)
        return [a if here else None for a, here in zip(self.constraint.compute(states), held.tolist(), strict=True)]

    def _held(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Which readings are states of the space, and z with some state for the others: no rule ever sees those."""
        held = self.space.holds(z)
        return (z * held[:, None] if self.space.mixed else z), held

    def reward(self, z: Tensor, y: Tensor) -> Tensor:
        """What each z is worth to a learner that is paid for its samples, ``[batch]``; by default 1 if z ∈ S_y, else 0.

        A task that knows how much of a z is right overrides this.
        """
        return self.feasible(z, y).double()

    def computed(self, z: Tensor) -> list[Any] | None:
        """:meth:`compute`; no list at all where the rule only checks answers."""
        try:
            return self.compute(z)
        except ConstraintError:
            return None

    def infeasible(self, y: Tensor, examples: Sequence[int], reason: str = "") -> ConstraintError:
        """The error that names these ``examples`` of a data set, whose encoded answers ``y`` nothing explains."""
        for example, answer in zip(examples, y, strict=True):
            if found := self.constraint.misfit(answer):
                return ConstraintError(
                    f"Example {example}: the answer {self.constraint.answer(answer)!r} is {found}. Give answers of "
                    "that type, or correct the rule."
                )
        shown = ", ".join(f"{i} (answer {self.constraint.answer(a)!r})" for i, a in zip(examples[:5], y, strict=False))
        return InfeasibleAnswer(
            f"{len(examples)} example(s) are infeasible: {shown}{' …' if len(examples) > 5 else ''}. "
            + (reason or "No symbols explain the answer: S_y is empty. Correct or remove these examples."),
            tuple(examples),
        )

    def contradicted(self, y: Tensor, examples: Sequence[int]) -> ConstraintError:
        """The error for examples whose known symbols leave nothing of S_y."""
        return self.infeasible(
            y,
            examples,
            "Nothing in S_y has the known symbols. Correct the answers or the known symbols of these examples.",
        )

    def figures(self, predicted: Tensor, y: Tensor, symbols: Tensor | None) -> dict[str, float]:
        """What predictions are worth; a task whose figures need the answers themselves overrides this."""
        found: Any = self.metrics(predicted, self.explained(predicted, y), symbols)
        if not isinstance(found, Mapping):
            raise SoftgroundError(f"The task's metrics gave {found!r}; expected numbers by name, {{name: value}}.")
        return {name: value.item() if hasattr(value, "item") else value for name, value in found.items()}
