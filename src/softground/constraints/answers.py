r"""Answers by number, so that a batch of them is a tensor.

An answer y is exact (:mod:`.exact`), unknown, or a relation (:mod:`.relations`), which stands for a set of exact ones.
Exact answers get 0, 1, 2, … in the order of first use; relations get :data:`RELATIONS` and above. A negative number is
a complement: ~c, that is −1 − c, stands for all states outside S_c. The first relation has an empty S_y; its complement
is the unknown answer, which admits every state.

Another process, or a copy of the rule that has seen other answers, may give an answer another number. A tensor of
:class:`Codes` therefore carries the mark of the rule that made it.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Hashable, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from ..errors import ConstraintError
from .exact import exact
from .relations import Not, OneOf, Relation, kinds_of, pattern

INTERNING = threading.RLock()
"""The lock for numbering new answers, whose numbers depend on their order. Rules share it: locks cannot be copied."""
RELATIONS = 2**32
NOTHING, EVERYTHING = RELATIONS, ~RELATIONS


Mark = tuple[int, int]


class Codes(Tensor):
    """A tensor of codes. Its rows, copies and concatenations are codes; all other results are plain tensors.

    >>> codes = Marks().codes(torch.tensor([0, 1, 1]))
    >>> type(codes[1:]).__name__, type(torch.stack([codes[0], codes[2]])).__name__, type(codes + 1).__name__
    ('Codes', 'Codes', 'Tensor')
    """

    mark: Mark

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            found = func(*args, **(kwargs or {}))
        if func not in KEPT:
            return found
        given = args[0] if isinstance(args[0], list | tuple) else args[:1]
        mark = getattr(given[0], "mark", None)
        if mark is None or (len(given) > 1 and {getattr(each, "mark", None) for each in given} != {mark}):
            return found
        if isinstance(found, tuple):
            return tuple(_marked(each, mark) for each in found)
        found = found.as_subclass(cls)
        found.mark = mark
        return found

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self.clone()


SAME = "__getitem__ to cpu cuda clone detach contiguous pin_memory expand repeat view reshape flatten squeeze unsqueeze"
KEPT = {getattr(Tensor, name) for name in f"{SAME} repeat_interleave index_select split unbind".split()}
KEPT |= {torch.stack, torch.cat, torch.index_select, torch.split, torch.unbind, torch.clone}


def _marked(y: Tensor, mark: Mark) -> Tensor:
    codes = y.as_subclass(Codes)
    codes.mark = mark
    return codes


class Marks:
    """The marks of the codes that a rule accepts, and its own mark, new in each process and after a copy."""

    def __init__(self) -> None:
        self._known: list[Mark] = []
        self._own: Mark | None = None

    def __getstate__(self) -> dict[str, Any]:
        """A copy accepts the codes made so far; later ones belong to one rule only."""
        self._own = None
        return {"_known": list(self._known), "_own": None}

    def codes(self, y: Tensor) -> Tensor:
        """Numbers of this rule, marked as its own."""
        if self._own is None or self._own[0] != os.getpid():
            self._own = os.getpid(), int.from_bytes(os.urandom(6), "big")
            self._known.append(self._own)
        return _marked(y, self._own)

    def check(self, y: Tensor) -> Tensor:
        """Return codes as a plain tensor; refuse anything but codes of this rule."""
        if not isinstance(y, Codes):
            given = f"a {y.dtype} tensor" if isinstance(y, Tensor) else f"a {type(y).__name__}"
            raise ConstraintError(
                f"The answers are {given}; expected codes, which the rule makes of a list of answers: "
                "rule.encode(answers), with answers.tolist() if they are a tensor."
            )
        if y.mark not in self._known:
            raise ConstraintError(
                "These codes were made by another rule, another copy of this rule or another process, such as a worker "
                "of a DataLoader, and may mean other answers here. Encode the answers in this process: "
                "rule.encode(answers)."
            )
        return y.as_subclass(Tensor)


class Interned:
    """The answers a rule has seen; equal answers have equal numbers.

    >>> seen = Interned()
    >>> seen.encode([7, 7.0, OneOf(1, 2), Not(7), None]).tolist()
    [0, 0, 4294967297, -1, -4294967297]
    >>> [seen.pattern(number) for number in (0, RELATIONS + 1, -1, EVERYTHING)]
    [7, OneOf(1, 2), Not(7), None]
    """

    def __init__(self) -> None:
        self.ids: dict[Hashable, int] = {}
        self.keys: list[Any] = []  # the exact answers, as the rule compares them
        self.relations: dict[Relation, int] = {OneOf(): 0}
        self.given: dict[int, Any] = {}  # the user's answers as written
        self.negates = False  # whether an answer was a complement
        self.plain = True  # whether all answers were exact
        self.marks = Marks()
        self.kinds: set[Hashable] = set()  # types of the rule's answers
        self._seen: set[int] = set()  # numbers whose answers' types were checked

    def inexact(self, y: Tensor) -> Tensor | None:
        """Which answers are relations, complements or unknown, ``[rows]`` bool; None if none are."""
        found = None if self.plain else (y < 0) | (y >= RELATIONS)
        return found if found is not None and bool(found.any()) else None

    def number(self, key: Hashable) -> int:
        """The number of an exact answer."""
        if key not in self.ids:
            with INTERNING:
                if key not in self.ids:
                    self.keys.append(key)
                    self.ids[key] = len(self.keys) - 1
        return self.ids[key]

    def encode(
        self,
        answers: Sequence[Any],
        key: Callable[[Any], Hashable] = exact,
        read: Callable[[Any], Any] | None = None,
        unlike: Callable[[Tensor], str] | None = None,
    ) -> Tensor:
        """The user's answers as numbers, ``[len(answers)]``; an error of ``key`` is raised with the position.

        ``read`` converts an answer to the form that the rule uses; ``unlike`` describes how the type of a number's
        answer differs from those of the rule's answers.
        """
        numbers, kinds = [], dict[Hashable, int]()
        for position, answer in enumerate(answers.tolist() if isinstance(answers, Tensor) else answers):
            try:
                if isinstance(answer, Tensor) and answer.numel() != 1:
                    raise ConstraintError(
                        f"A tensor of shape {tuple(answer.shape)} was given for one answer. A DataLoader makes columns "
                        "of tuple answers: give it collate_fn=sg.collate, which keeps rows. For a tuple of this "
                        "example give answer.tolist()."
                    )
                numbers.append(self.code(answer if read is None else read(answer), key))
            except ConstraintError as error:
                raise ConstraintError(*error.args, example=position) from error
            self.given.setdefault(numbers[-1], answer)
            if unlike is not None and numbers[-1] not in self._seen:
                self._seen.add(numbers[-1])
                kinds.setdefault(kinds_of(pattern(answer)), position)
        codes = self.marks.codes(torch.tensor(numbers, dtype=torch.long))
        for each in kinds.keys() - self.kinds:
            position = kinds[each]
            if unlike is not None and (difference := unlike(codes[position])):
                self._seen.clear()  # so that the next attempt also fails
                raise ConstraintError(
                    f"the answer {answers[position]!r} is {difference}. Give answers of that type, or correct the "
                    "rule.",
                    example=position,
                )
            self.kinds.add(each)
        return codes

    def code(self, answer: object, key: Callable[[Any], Hashable] = exact) -> int:
        """The number of an answer or a relation."""
        if answer is None:
            self.negates, self.plain = True, False
            return EVERYTHING
        if isinstance(answer, Not):
            self.negates, self.plain = True, False
            return ~self.code(answer.answer, key)
        if isinstance(answer, Relation):
            for leaf in answer.leaves():
                self.number(key(leaf))  # refuses answers that the rule cannot compare
            with INTERNING:
                self.plain = False
                return RELATIONS + self.relations.setdefault(answer, len(self.relations))
        return self.number(key(answer))

    def written(self, key: Hashable, otherwise: object) -> Any:
        """An exact answer as the user wrote it, if the user gave it."""
        return self.given.get(self.ids[key], otherwise) if key in self.ids else otherwise

    def pattern(self, number: int) -> Any:
        """The answer of a number: an exact one, a relation or None."""
        if number == EVERYTHING:
            return None
        if number < 0:
            return Not(self.pattern(~number))
        return self.keys[number] if number < RELATIONS else list(self.relations)[number - RELATIONS]


def remember_in(cache: dict[Any, Any], key: Hashable, value: object, limit: int) -> None:
    """Cache a value; a cache of ``limit`` values first drops its oldest quarter.

    Dropping them one by one would be slow: a dict searches for its first key past the places of deleted ones.
    """
    with INTERNING:
        if len(cache) >= limit:
            for old in list(islice(cache, len(cache) - limit + 1 + limit // 4)):
                del cache[old]
        cache[key] = value


def distinct_rows(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct rows in order, and the number of each row among them; fast if a row fits into one integer.

    >>> distinct_rows(torch.tensor([[2, -1], [0, 5], [2, -1]]))
    (tensor([[ 0,  5],
            [ 2, -1]]), tensor([1, 0, 1]))
    """
    low, high = (edge.tolist() for edge in torch.aminmax(rows, dim=0)) if len(rows) else ([], [])
    spans = [b - a + 1 for a, b in zip(low, high, strict=True)]
    if not len(rows) or math.prod(spans) >= 2**63:
        return torch.unique(rows, dim=0, return_inverse=True)  # type: ignore[no-any-return]
    key = torch.zeros_like(rows[:, 0])
    for column, first, span in zip(rows.unbind(1), low, spans, strict=True):
        key = key * span + (column - first)
    found, place = torch.unique(key, return_inverse=True)
    distinct = rows.new_empty(len(found), rows.shape[1])
    distinct[place] = rows
    return distinct, place
