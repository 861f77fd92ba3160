"""Answers of a user's own training loop, and their codes for one task.

A rule numbers answers in the order in which it meets them, so that codes mean nothing in another process. Here the
user's own answers travel, and every distinct one is encoded, solved for and checked once.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from typing import Any, Literal

import torch
from torch import Tensor
from torch.utils.data import default_collate

from ..constraints.base import outside_inference
from ..constraints.cnf import HOLDS, Cnf
from ..constraints.relations import pattern
from ..data.columns import answers_of
from ..data.known import known_codes
from ..errors import ConstraintError, DataError, NoLaw
from ..files import Json
from ..inverses.base import coded, empty, sole, start_given
from ..inverses.composite import Composite, composite
from ..inverses.joint import SHARE, together
from ..inverses.lists import Lists
from ..task import Task

Method = Literal["auto", "exact", "parts", "chains"]
CHECKED = 1024  # answers to check at a time
ADDING = threading.RLock()


class Answers:
    """The answers of a batch, of any kind. Frameworks can move it like a tensor."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = list(values)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __repr__(self) -> str:
        return f"Answers({self.values!r})"

    def to(self, *args: Any, **kwargs: Any) -> Answers:
        """Return itself: answers have no device."""
        return self

    def pin_memory(self) -> Answers:
        return self


def collate(batch: Sequence[tuple[Any, Any]]) -> tuple[Any, Answers]:
    """Collate pairs ``(x, y)`` for a DataLoader: inputs as PyTorch does, answers as :class:`Answers`.

    >>> x, y = collate([(torch.zeros(2), (3, None)), (torch.ones(2), "7")])
    >>> x.shape, y
    (torch.Size([2, 2]), Answers([(3, None), '7']))
    """
    inputs, answers = zip(*batch, strict=True)
    return default_collate(list(inputs)), Answers(answers)


def answer_list(answers: Any, rows: int) -> list[Any]:
    """One answer for each of ``rows``; tuples may come as one tensor or list for each of their entries.

    >>> answer_list(torch.tensor([[3, 7], [4, 8]]), 2)
    [(3, 7), (4, 8)]
    >>> answer_list([torch.tensor([3, 4, 5]), torch.tensor([7, 8, 9])], 3)
    [(3, 7), (4, 8), (5, 9)]
    """
    if isinstance(answers, Answers):
        answers = answers.values
    elif hasattr(answers, "itertuples"):  # a frame of pandas, which would give its columns' names
        answers = list(answers.itertuples(index=False, name=None))
    elif hasattr(answers, "tolist"):
        answers = answers.tolist()
        answers = [tuple(row) for row in answers] if answers and isinstance(answers[0], list) else answers
    if isinstance(answers, str | Set | Mapping) or not isinstance(answers, Sequence):
        raise DataError(f"The answers are {answers!r}; expected one for each of {rows} rows of logits, in their order.")
    if len(answers) and (isinstance(answers[0], Sequence) or getattr(answers[0], "ndim", 0) == 1):
        answers = _rows_of_tuples(answers, rows)
    if len(answers) != rows:
        raise DataError(f"{rows} rows of logits have {len(answers)} answers; give one answer for each row.")
    return list(answers)


def _rows_of_tuples(answers: Sequence[Any], rows: int) -> Sequence[Any]:
    """Rows, from the columns that PyTorch's default collate makes of tuples: a tensor or tuple of texts per entry."""
    tensors = all(getattr(entry, "ndim", 0) == 1 for entry in answers)
    if not (tensors or all(isinstance(entry, list | tuple) for entry in answers)):
        return answers
    columns = all(len(entry) == rows for entry in answers)
    if columns and len(answers) == rows > 1 and (tensors or all(isinstance(e, str) for row in answers for e in row)):
        raise DataError(
            f"{rows} answers of {rows} entries each were given, which may be rows or columns: PyTorch's default "
            "collate turns tuples into columns. Use GroundingLoss(task, answers=…) and index=, or "
            "DataLoader(…, collate_fn=softground.collate)."
        )
    if columns and len(answers) != rows:
        return list(zip(*(entry.tolist() if tensors else entry for entry in answers), strict=True))
    return answers


def key(answer: Any) -> Hashable:
    """The key of an answer: equal answers have equal keys, and a missing one has None."""
    (answer,) = answers_of([answer])
    return pattern(answer) if hasattr(answer, "tolist") or not isinstance(answer, Hashable) else answer


class AnswerCodes:
    """The distinct answers that a task has met, as codes; by the task's law, its parts or chains.

    A copy in another process, or for another task, starts empty.
    """

    def __init__(self, task: Task, method: Method = "exact") -> None:
        if not task.space.categorical:
            raise NoLaw(
                f"{task.space!r} has real numbers; posteriors and grounding losses are for symbols. Use a Learner."
            )
        self.task, self.method = task, method
        self._number: dict[Hashable, int] = {}
        self._codes: Tensor | None = None
        self._empty = torch.zeros(0, dtype=torch.bool)

    def __getstate__(self) -> Json:
        return {"task": self.task, "method": self.method}

    def __setstate__(self, state: Json) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __deepcopy__(self, memo: dict[int, Any]) -> AnswerCodes:
        task = memo.get(id(self.task), self.task)
        return self if task is self.task else AnswerCodes(task, self.method)

    def read(self, answers: Sequence[Any], device: torch.device) -> tuple[Tensor, Tensor | None]:
        """The codes of the answers, and which of them nothing explains: bool ``[rows]``, None where all are fine."""
        try:
            numbers = torch.tensor([self._number[answer] for answer in answers], dtype=torch.long)
        except (KeyError, TypeError):  # a new answer, or one that has no hash
            with ADDING, outside_inference():
                self._add(answers)
            numbers = torch.tensor([self._number[key(answer)] for answer in answers], dtype=torch.long)
        codes = self.task.constraint.encode([]) if self._codes is None else self._codes[numbers]
        return codes.to(device), self._empty[numbers].to(device) if bool(self._empty.any()) else None

    def explained(
        self, answers: Sequence[Any] | None, known: Any, places: Tensor, device: torch.device, strict: bool = True
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Codes, the codes of known symbols, and which rows nothing explains; ``strict`` ones are an error.

        Errors name the rows by their ``places``. No answers: the rule has the same for all.
        """
        count, task = len(places), self.task
        y, lost = (self.sole(count, device), None) if answers is None else self.read(answers, device)
        checks: list[tuple[Tensor | None, Any]] = [(lost, task.infeasible)]
        if known is not None:
            known = known_codes(known, task.space, count, lambda row: int(places[row])).to(device)
            contradicted = self.empty(y, known)
            checks.append((contradicted, task.contradicted))
            lost = contradicted if lost is None else lost | contradicted
        for wrong, error in checks if strict else []:
            if wrong is not None and bool(wrong.any()):
                raise error(y[wrong], places[wrong.to(places.device)].tolist())
        return y, known, None if strict else lost

    def sole(self, rows: int, device: torch.device) -> Tensor:
        """The code of a rule that has one answer for all, such as a Cnf or a list of valid states."""
        formula = isinstance(self.task.constraint, Cnf)  # which holds
        code = torch.tensor([HOLDS]) if formula else sole(self.task.inverse)
        if code is None:
            raise DataError("No answers were given; leave them out only where a rule has the same answer for all rows.")
        code = coded(self.task.inverse, code)
        self._settle(code)
        return code.expand(rows, *code.shape[1:]).to(device)

    def _add(self, answers: Sequence[Any]) -> None:
        new = [k for k in dict.fromkeys(map(key, answers)) if k not in self._number]
        if not new:
            return
        try:
            codes = self.task.constraint.encode(new)
        except ConstraintError:
            self.task.constraint.encode(answers_of(answers))  # the same error, by the position among all
            raise
        self._settle(codes)
        empty = [self.empty(part) for part in torch.split(codes, CHECKED)]
        self._codes = codes if self._codes is None else torch.cat([self._codes, codes])
        self._empty = torch.cat([self._empty, *empty])
        self._number |= {k: len(self._number) + place for place, k in enumerate(new)}

    def _settle(self, codes: Tensor) -> None:
        """Choose an inverse for these codes, within the task's budget."""
        if self.method not in ("auto", "exact"):
            if self.method == "parts" and not self.parts.exact:
                raise self.no_law("no part of it has an exact law of its own")
            return
        before = self.task.inverse
        if self.task.open and (not before.exact or isinstance(before, Lists)):
            self.task.settle(codes)
            if isinstance(before, Lists) and isinstance(self.task.inverse, Lists):
                self.task.inverse.join(before)
        if self.task.inverse.exact:
            self.method = "exact"
        elif self.method == "auto" and self.parts.exact:
            self.method = "parts"
            warnings.warn(
                "The rule has no exact law within the budget. The loss adds up the exact laws of its parts, which is "
                "weaker than the whole rule; method='parts' says so without this warning.",
                stacklevel=2,
            )
        else:
            raise self.no_law("it has no exact law")

    def no_law(self, reason: str) -> NoLaw:
        """The error for a rule without an exact inverse: the attempts, and the remedies."""
        refused = (
            "" if self.task.choice is None else str(self.task.choice).partition("\n")[2].replace("  not ", "  no ")
        )
        return NoLaw(
            f"The solutions of the rule cannot be summed by {self.task.inverse!r}: {reason}.\n{refused}\nState it as a "
            "Scan, or by All as smaller parts; or allow more by Task(…, budget=Budget(seconds=…, solutions=…)); or "
            "sample, by GroundingLoss(task, answers=…, method='chains') and index=; or use a Learner, which samples."
        )

    @property
    def parts(self) -> Composite:
        """The parts of the rule."""
        return composite(self.task.constraint, self.task.inverse)

    def empty(self, codes: Tensor, known: Tensor | None = None) -> Tensor:
        """Which S_y have no state, with the known symbols: bool ``[rows]``. For chains, those that are proved."""
        task = self.task
        if self.method == "exact":
            return empty(task.inverse, codes, known)
        if self.method == "chains":
            start = start_given(task.inverse, codes, 0, known)
            return ~start.found & start.proved
        return together(task.constraint, task.inverse, codes, known, task.budget.seconds / SHARE)[0]
