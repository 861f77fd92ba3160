r"""A rule made of parts, each of which touches some of the sites: S_y = ∩ S_y^c.

>>> from softground.constraints import AllDifferent, Between, Sum
>>> space = Categorical([range(10)] * 4)  # a square of 2×2 digits: sums of its rows, then of its columns
>>> square = All([Sum([0, 1]), Sum([2, 3]), Sum([0, 2]), Sum([1, 3])], space)
>>> z = space.encode([(1, 2, 3, 4), (2, 1, 3, 4)])
>>> square.feasible(z, square.encode([(3, 7, 4, 6), (3, 7, 4, 6)])).tolist(), square.compute(z)
([True, False], [(3, 7, 4, 6), (3, 7, 5, 5)])

Entries of an answer may be relations, such as ``(3, None, Between(1, 5), 6)``. Where the answer is no such tuple,
``answer`` says what a part takes from it:

>>> magic = All([Sum([0, 1], answer=lambda y: y), Sum([2, 3], answer=lambda y: y), AllDifferent([0, 1, 2, 3])], space)
>>> magic.feasible(space.encode([(1, 4, 3, 2), (2, 3, 2, 3)]), magic.encode([5, 5])).tolist()
[True, False]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..errors import ConstraintError
from ..spaces.categorical import Categorical
from .answers import INTERNING, Interned, Relation, pattern
from .base import Constraint, Part
from .pieces import NEXT, Piece


class All(Constraint):
    """The constraint z ∈ S_y ⇔ every one of the pieces holds of its sites.

    An answer has one entry for each piece with an answer of its own (sums, counts, values), in their order; where there
    is one such piece, the answer is its own, and where there is none, ``True``. A piece with ``answer=f`` reads
    ``f(answer)`` instead (then all others with an answer must say theirs too); one with ``answer=12`` is always 12.
    """

    def __init__(self, pieces: Sequence[Piece], space: Categorical) -> None:
        self.space, self.pieces = space, list(pieces)
        if not self.pieces:
            raise ConstraintError("All([]) was given; expected at least one part, such as Sum([0, 1]).")
        self.next = [at for at, piece in enumerate(self.pieces) if piece.answer is NEXT]
        self.reads = any(callable(piece.answer) for piece in self.pieces)
        if self.next and self.reads:
            raise ConstraintError(
                f"{self.pieces[self.next[0]]} has no answer=, and another part has one that reads the whole answer; "
                "expected answer= in each of them, or in none."
            )
        rules: dict[Any, Constraint] = {}
        for piece in self.pieces:
            if (key := (piece.kind, self._alphabets(piece))) not in rules:
                rules[key] = piece.rule(Categorical(key[1]))
        self.rules = [rules[piece.kind, self._alphabets(piece)] for piece in self.pieces]
        self.answers = Interned()
        self._codes: dict[tuple[Constraint, Any], int] = {}
        self._meant: dict[tuple[Constraint, int], Any] = {}
        self._rows: dict[torch.device, Tensor] = {}
        self._groups: dict[torch.device, list[tuple[Constraint, Tensor, Tensor]]] = {}
        self._fixed = {
            at: self._code(at, piece.answer)
            for at, piece in enumerate(self.pieces)
            if piece.answer is not NEXT and not callable(piece.answer)
        }

    def __repr__(self) -> str:
        return f"All({len(self.pieces)} parts over {self.space.sites} sites)"

    def parts(self) -> list[Part]:
        def reader(at: int) -> Any:
            return lambda y: self.rows(y)[:, at]

        return [
            Part(tuple(piece.sites), rule, reader(at))
            for at, (piece, rule) in enumerate(zip(self.pieces, self.rules, strict=True))
        ]

    def _alphabets(self, piece: Piece) -> tuple[Any, ...]:
        sites = list(piece.sites)
        if not sites or len(set(sites)) != len(sites) or not set(sites) <= set(range(self.space.sites)):
            raise ConstraintError(
                f"{piece} was given; expected one or more of the sites 0 … {self.space.sites - 1}, each once."
            )
        return tuple(self.space.alphabets[site] for site in sites)

    def encode(self, answers: Sequence[Any]) -> Tensor:
        """Answers as ids, ``[len(answers)]``; :meth:`rows` has the parts' own."""
        return self.answers.encode(answers, self._key, lambda answer: (answer,))  # so that None and relations come here

    def _key(self, given: tuple[Any]) -> tuple[int, ...]:
        """The number of each part's answer, in that part's rule."""
        (answer,) = given
        entries = iter(self._entries(answer))
        codes = []
        for at, piece in enumerate(self.pieces):
            if at in self._fixed:
                codes.append(self._fixed[at])
            else:
                own = next(entries) if piece.answer is NEXT else None if answer is None else self._asked(piece, answer)
                codes.append(self._code(at, own))
        return tuple(codes)

    def _entries(self, answer: Any) -> list[Any]:
        """The entries of an answer, one for each part that has one."""
        if answer is None or len(self.next) == 1:
            return [answer] * len(self.next)
        if not self.next:
            if answer is not True and not self.reads:
                raise ConstraintError(f"The answer {answer!r} was given; none of the parts has an answer: give True.")
            return []
        entries = answer.tolist() if hasattr(answer, "tolist") else answer
        if not isinstance(entries, list | tuple) or len(entries) != len(self.next):
            raise ConstraintError(
                f"The answer {answer!r} was given; expected {len(self.next)} entries, one for each of the parts: "
                f"{', '.join(str(self.pieces[at]) for at in self.next[:3])}{' …' * (len(self.next) > 3)}."
            )
        return list(entries)

    def _asked(self, piece: Piece, answer: Any) -> Any:
        if isinstance(answer, Relation):
            raise ConstraintError(
                f"The answer {answer!r} was given, of which the {piece} and others read what concerns them; expected "
                "an answer, or None. Let answer= give relations of single parts instead."
            )
        try:
            return piece.answer(answer)
        except Exception as error:
            raise ConstraintError(
                f"The answer {answer!r} lacks what the {piece} reads from it: {type(error).__name__}: {error}."
            ) from error

    def _code(self, at: int, answer: Any) -> int:
        """The number of a part's answer, found once."""
        rule = self.rules[at]
        try:
            key = rule, pattern(answer)
            if key not in self._codes:
                self._codes[key] = int(rule.encode([answer]))
                self._meant[rule, self._codes[key]] = key[1]
        except ConstraintError as error:
            reason = str(error).removeprefix("Example 0: ")
            raise ConstraintError(f"{self.pieces[at]}: {reason}") from error
        return self._codes[key]

    def key(self, y: int) -> tuple[int, ...]:
        """The numbers of the parts' own answers."""
        found: tuple[int, ...] = self.answers.keys[y]
        return found

    def meant(self, rule: Constraint, code: int) -> Any:
        """What one of a part's encoded answers stands for: an exact answer, a relation or None."""
        return self._meant[rule, code]

    def rows(self, y: Tensor) -> Tensor:
        """The parts' own encoded answers, ``[rows, parts]``."""
        with INTERNING:
            if y.device not in self._rows or len(self._rows[y.device]) < len(self.answers.keys):
                rows = torch.tensor(self.answers.keys, dtype=torch.long, device=y.device)
                self._rows[y.device] = rows.reshape(-1, len(self.pieces))
            return self._rows[y.device][y]

    def answer(self, y: Tensor) -> Any:
        return self.answers.given[int(y)]

    def misfit(self, y: Tensor) -> str:
        asked = zip(self.pieces, self.rules, self.rows(y[None])[0], strict=True)
        return next((f"for the {piece} {found}" for piece, rule, own in asked if (found := rule.misfit(own))), "")

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        rows, found = self.rows(y), torch.ones(len(z), dtype=torch.bool, device=z.device)
        for rule, places, sites in self._together(z.device):
            some = z[:, sites]  # [rows, parts of this rule, their sites]
            fine = rule.feasible(some.flatten(0, 1), rows[:, places].flatten())
            found &= fine.view(some.shape[:2]).all(1)
        return found

    def admissible(self, z: Tensor) -> Tensor:
        found = self._fixed_hold(z)
        for at in set(range(len(self.pieces))) - self._fixed.keys():
            found = found & self.rules[at].admissible(z[:, list(self.pieces[at].sites)])
        return found

    def _fixed_hold(self, z: Tensor) -> Tensor:
        """Whether all parts hold that need no answer."""
        found = torch.ones(len(z), dtype=torch.bool, device=z.device)
        for at, code in self._fixed.items():
            found &= self.rules[at].feasible(z[:, list(self.pieces[at].sites)], torch.full_like(z[:, 0], code))
        return found

    def compute(self, z: Tensor) -> list[Any]:
        """The parts' answers, where no part reads the whole answer; None where one cannot hold or has none."""
        if self.reads:
            return super().compute(z)
        each = [self.rules[at].compute(z[:, list(self.pieces[at].sites)]) for at in self.next]
        found: list[Any] = [*zip(*each, strict=True)] if each else [(True,)] * len(z)
        whole = [
            holds and None not in answers for holds, answers in zip(self._fixed_hold(z).tolist(), found, strict=True)
        ]
        return [(a if len(a) > 1 else a[0]) if here else None for a, here in zip(found, whole, strict=True)]

    def _together(self, device: torch.device) -> list[tuple[Constraint, Tensor, Tensor]]:
        """The rules with the places and the sites of their parts, on the device, made once."""
        if device not in self._groups:
            found: dict[Constraint, list[int]] = {}
            for at, rule in enumerate(self.rules):
                found.setdefault(rule, []).append(at)
            self._groups[device] = [
                (
                    rule,
                    torch.tensor(places, device=device),
                    torch.tensor([list(self.pieces[at].sites) for at in places], device=device),
                )
                for rule, places in found.items()
            ]
        return self._groups[device]
