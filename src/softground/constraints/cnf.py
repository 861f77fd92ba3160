r"""A propositional formula in conjunctive normal form as a rule; DIMACS files hold such formulas.

The sites are the Boolean variables 1 … n, in order. A clause is a list of literals, v for 'variable v is true' and −v
for 'it is false'. It holds if one of them does, and the formula holds if every clause does. With W the matrix of the
clauses' signs and s = ±1 the values of the variables, a clause c is violated iff W_c·s = −‖W_c‖₁: one matrix product
checks all clauses of all states.

The answer says whether the formula holds: S_True is its models, S_False all other states.

>>> rule = Cnf([[1, 2], [-1, 3]])
>>> z = rule.space.encode([(True, False, True), (True, False, False)])
>>> rule.compute(z), rule.feasible(z, rule.encode([True, False])).tolist()
([True, False], [True, True])
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import ConstraintError
from ..spaces.categorical import Categorical
from .answers import EVERYTHING, NOTHING
from .base import Constraint, Part
from .exact import exact
from .pieces import All, Clause
from .relations import OneOf, Relation, resolve

HOLDS = 0  # the code of True; that of False is its complement
SHOWN = {HOLDS: True, ~HOLDS: False, EVERYTHING: None, NOTHING: OneOf()}
CHUNK = 2**26  # clauses to check at a time, over all states
MOST_VARIABLES = 1_000_000  # of a file; each is a site


class Cnf(Constraint):
    """The constraint 'every clause holds', for sites whose symbols are False and True (or 0 and 1).

    Without a ``space``, the number of sites is the largest variable. Sites beyond it are free.
    """

    def __init__(self, clauses: Sequence[Sequence[int]], space: Categorical | None = None) -> None:
        self.clauses = tuple(tuple(dict.fromkeys(clause)) for clause in clauses)
        for number, clause in enumerate(self.clauses, 1):
            if not all(type(literal) is int and literal for literal in clause):
                raise ConstraintError(
                    f"Clause {number} is {list(clause)!r}; expected variables as whole numbers from 1 on, negative "
                    "where they are negated."
                )
        self.variables = max((abs(literal) for clause in self.clauses for literal in clause), default=0)
        self.space = space or Categorical([(False, True)] * max(1, self.variables))
        _check(self.space, self.variables)
        self.true = torch.tensor([a.index(True) for a in self.space.alphabets])
        # Without clauses that always hold: those with a variable and its negation.
        self._kept = [clause for clause in self.clauses if not any(-literal in clause for literal in clause)]
        self._signs: dict[torch.device, Tensor] = {}
        self._negates = False

    @classmethod
    def read(cls, path: str | Path, space: Categorical | None = None, **given: Any) -> Cnf:
        """Read a DIMACS file; without a ``space``, make one of its variables with the settings ``given``."""
        variables, clauses = dimacs(Path(path))
        if space is not None and variables > space.sites:
            raise ConstraintError(
                f"{path} announces {variables:,} variables, but the space has {space.sites} sites. Correct its header, "
                "give a space with one site per variable, or leave the space out."
            )
        if variables > MOST_VARIABLES:
            raise ConstraintError(f"{path} announces {variables:,} variables; at most {MOST_VARIABLES:,} can be sites.")
        return cls(clauses, space or Categorical([(False, True)] * max(1, variables), **given))

    def __repr__(self) -> str:
        return f"Cnf({len(self.clauses):,} clauses, {self.variables:,} variables)"

    @property
    def negates(self) -> bool:
        return self._negates

    def conjunction(self) -> All | None:
        """The conjunction of the clauses; None if an answer is not True: a failing formula is no conjunction."""
        pieces = [Clause({abs(v) - 1: v > 0 for v in sorted(clause, reverse=True)}) for clause in self._kept]
        if self._negates or not pieces or not all(piece.sites for piece in pieces):
            return None
        whole = All(pieces, self.space)
        assert int(whole.encode([True])) == HOLDS
        return whole

    def parts(self) -> Sequence[Part]:
        whole = self.conjunction()
        return () if whole is None else whole.parts()

    def encode(self, answers: Sequence[Any]) -> Tensor:
        """0 for True, its complement −1 for False."""
        codes = [_code(answer, position) for position, answer in enumerate(answers)]
        self._negates |= any(code < 0 for code in codes)
        return torch.tensor(codes, dtype=torch.long)

    def answer(self, y: Tensor) -> Any:
        return SHOWN[int(y)]

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        held = self.holds(z)
        return torch.where(y == HOLDS, held, torch.where(y == ~HOLDS, ~held, y == EVERYTHING))

    def admissible(self, z: Tensor) -> Tensor:
        return torch.ones(len(z), dtype=torch.bool, device=z.device)

    def compute(self, z: Tensor) -> list[Any]:
        return self.holds(z).tolist()

    def holds(self, z: Tensor) -> Tensor:
        """Whether every clause holds, per state: ``[rows]`` bool."""
        signs = self._signs_on(z.device)
        width, value = signs.abs().sum(0), torch.where(z == self.true.to(z.device), 1.0, -1.0)
        parts = torch.split(value, max(1, CHUNK // max(1, signs.shape[1])))
        return torch.cat([(part @ signs > -width).all(-1) for part in parts])

    def _signs_on(self, device: torch.device) -> Tensor:
        """W, transposed, ``[sites, clauses]``."""
        if device not in self._signs:
            signs = torch.zeros(self.space.sites, len(self._kept))
            for column, clause in enumerate(self._kept):
                for literal in clause:
                    signs[abs(literal) - 1, column] = 1.0 if literal > 0 else -1.0
            self._signs[device] = signs.to(device)
        return self._signs[device]


def _check(space: Categorical, variables: int) -> None:
    """Refuse a space without a Boolean site for every variable."""
    if variables > space.sites:
        raise ConstraintError(
            f"The formula has variable {variables}, but the space has {space.sites} sites: no site stands for it. Give "
            "a space with one site per variable, or leave the space out."
        )
    for site, alphabet in enumerate(space.alphabets):
        if len(alphabet) != 2 or set(alphabet) != {False, True}:
            raise ConstraintError(
                f"Site {site} has the symbols {list(alphabet)!r}; the variables of a CNF need False and True (or 0 and "
                "1)."
            )


def _code(answer: object, position: int) -> int:
    """An answer's code, by whether it admits a formula that holds, and one that fails."""

    def leaf(key: Hashable) -> Tensor:
        if key not in (0, 1):
            raise ConstraintError(
                f"the answer {answer!r} was given to a CNF, which holds or does not: expected True or False, or None "
                "if that is unknown.",
                example=position,
            )
        return torch.tensor([key == 1, key == 0])

    def test(relation: Relation) -> Tensor:
        return torch.tensor([relation.admits(1), relation.admits(0)])

    read = answer if answer is None or isinstance(answer, Relation) else exact(answer)
    admitted = tuple(resolve(read, leaf, test, torch.tensor([True, True])).tolist())
    return {(True, False): HOLDS, (False, True): ~HOLDS, (True, True): EVERYTHING}.get(admitted, NOTHING)


def dimacs(path: Path) -> tuple[int, list[list[int]]]:
    """The number of variables in a DIMACS CNF file's header, and its clauses.

    Comments, blank lines, several clauses on a line and clauses over several lines are legal. A line ``%`` ends the
    file, as in SATLIB.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConstraintError(f"{path} cannot be read as text ({error}); expected a DIMACS CNF file.") from error
    header: list[int] = []
    clauses: list[list[int]] = []
    clause: list[int] = []
    at = 1

    def wrong(what: str) -> ConstraintError:
        return ConstraintError(f"{path}, line {at}: {what}")

    for number, words in enumerate(map(str.split, lines), 1):
        if words and words[0] == "%":
            break
        if not words or words[0].startswith("c"):
            continue
        at = number
        if not header:
            if len(words) != 4 or words[:2] != ["p", "cnf"] or not all(map(_whole, words[2:])):
                given = " ".join(words)[:60]
                raise wrong(f"{given!r} is no header; expected 'p cnf VARIABLES CLAUSES' before the first clause.")
            header = [int(word) for word in words[2:]]
            continue
        for word in words:
            if not _whole(digits := word.removeprefix("-")):
                raise wrong(f"{word[:60]!r} is no whole number; a clause is a list of them.")
            if int(digits) > header[0]:
                raise wrong(f"variable {digits} was given, but the header announces {header[0]} variables.")
            clause.append(int(word))
            if not clause[-1]:
                clauses.append(clause[:-1])
                clause = []
    if not header:
        raise wrong("the file is empty; expected a line 'p cnf VARIABLES CLAUSES'.")
    if clause:
        raise wrong(f"the last clause, {clause}, does not end in 0.")
    if len(clauses) != header[1]:
        raise wrong(
            f"the file ends after {len(clauses)} clauses, but its header says {header[1]}. Correct the header, or give "
            "the file in full."
        )
    return header[0], clauses


def _whole(word: str) -> bool:
    return word.isascii() and word.isdigit()
