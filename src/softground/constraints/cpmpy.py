r"""A rule written in CPMpy, the modelling language: z ∈ S_y where its constraints hold.

``rule(z, y)`` is called once for each answer, with an array ``z`` of one CPMpy variable per site and the answer in its
exact form (an int, a :class:`fractions.Fraction`, a string or a tuple of these). A variable stands for the symbol
itself where the site's alphabet is all ints, else for the symbol's position in that alphabet; it is Boolean where the
alphabet is ``(False, True)``. The rule returns a CPMpy constraint, a list of these (nested as you like; Python's bools
count), or a ``cpmpy.Model`` without objective. All of CPMpy's constraints may be used: ``AllDifferent``, ``Table``,
``Count``, ``Circuit``, ``Cumulative``, …

Variables that the rule makes itself count as existentially quantified: z is feasible if *some* values of them meet the
constraints. Feasibility then takes a solver; otherwise it is evaluated (:mod:`~softground.constraints.tape`).

T. Guns, "Increasing modeling language convenience with a universal n-dimensional array, CPpy as python-embedded
example", ModRef 2019.

>>> import cpmpy as cp
>>> from softground.spaces import Categorical
>>> space = Categorical([range(10)] * 3)
>>> total = CPMpy(lambda z, y: [cp.AllDifferent(z), cp.sum(z) == y], space)
>>> total.feasible(space.encode([(9, 0, 8), (9, 4, 4), (1, 0, 2)]), total.encode([17, 17, 3])).tolist()
[True, False, True]
"""

from __future__ import annotations

import uuid
from collections.abc import Hashable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..errors import ConstraintError
from ..spaces.categorical import Categorical
from .base import Constraint
from .interned import Interned, remember_in
from .statement import Rule, Statement, load_cpmpy, site_variables, state
from .tape import Step, Tape, run

CACHE_LIMIT = 2**18  # states whose feasibility took a solver
STATEMENTS_KEPT = 2**12
SECONDS = 60.0  # for a solver to say whether a state is feasible


class CPMpy(Constraint):
    """The constraint z ∈ S_y ⇔ the constraints that ``rule(z, y)`` returns hold."""

    def __init__(self, rule: Rule, space: Categorical) -> None:
        load_cpmpy()
        self.rule, self.space = rule, space
        self.token = uuid.uuid4().hex  # names this rule in a worker process's store of models
        self._forget()

    def _forget(self) -> None:
        self._answers = Interned()
        self._sites: Any = None
        self._statements: dict[Hashable, Statement] = {}
        self._tapes: dict[int, tuple[tuple[Step, ...], tuple[int, ...]] | None] = {}  # None: it takes a solver
        self._shared: dict[tuple[Step, ...], tuple[Step, ...]] = {}
        self._cache: dict[tuple[int, tuple[int, ...]], bool] = {}

    def __getstate__(self) -> dict[str, Any]:
        """What a worker process needs; answers go along with each query."""
        return {"rule": self.rule, "alphabets": self.space.alphabets, "token": self.token}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.rule, self.token, self.space = state["rule"], state["token"], Categorical(state["alphabets"])
        self._forget()

    def encode(self, answers: Sequence[Any]) -> Tensor:
        """Answers as ids, ``[len(answers)]``: equal answers have equal ids."""
        return self._answers.encode(answers)

    def answer(self, y: Tensor) -> Any:
        return self._answers.given[int(y)]

    def key(self, y: int) -> Hashable:
        """Answer ``y`` (an id) in its exact form, which the rule is called with, or the relation that it is."""
        answer: Hashable = self._answers.pattern(y)
        return answer

    @property
    def negates(self) -> bool:
        return self._answers.negates

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Exact; answers whose constraints differ in numbers only are evaluated together."""
        columns, found = self.space.arguments(z), torch.zeros(len(z), dtype=torch.bool, device=z.device)
        answers, place = torch.unique(y, return_inverse=True)
        alike: dict[Any, list[tuple[int, tuple[int, ...]]]] = {}
        for number, i in enumerate(answers.tolist()):
            steps, constants = self._tape(i) or (None, ())
            alike.setdefault(steps, []).append((number, constants))
        for steps, members in alike.items():
            numbers = torch.tensor([number for number, _ in members], device=z.device)
            rows = torch.isin(place, numbers).nonzero().flatten()
            if steps is None:
                states = zip(y[rows].tolist(), map(tuple, z[rows].tolist()), strict=True)
                found[rows] = torch.tensor([self._searched(*s) for s in states], dtype=torch.bool, device=z.device)
                continue
            table = torch.tensor([constants for _, constants in members], dtype=torch.long, device=z.device)
            own = table[torch.searchsorted(numbers, place[rows])] if len(members) > 1 else table[0]
            found[rows] = run(steps, [column[rows] for column in columns], own)
        return found

    def admissible(self, z: Tensor) -> Tensor:
        """Whether z is feasible for one of the answers **encoded so far**: a rule does not say which answers exist.

        It is exact for a rule that ignores y, such as Sudoku's; otherwise it tries the answers one after the other.
        """
        answers = [i for i in self._answers.given if i >= 0]
        if not answers:
            raise ConstraintError(
                "admissible() of a CPMpy rule looks among the answers encoded so far, and there are none. "
                "Call encode() with the answers first (any answer will do for a rule that ignores y)."
            )
        found = torch.zeros(len(z), dtype=torch.bool, device=z.device)
        for i in answers:
            left = (~found).nonzero().flatten()
            found[left] = self.feasible(z[left], torch.full_like(left, i))
        return found

    @property
    def sites(self) -> Any:
        """CPMpy's variables for the sites, an array that the rule is called with."""
        if self._sites is None:
            self._sites = site_variables(self.space)
        return self._sites

    def statement(self, answer: Hashable) -> Statement:
        """What the rule says for an answer in its exact form, or for a relation; the latest are remembered."""
        made = self._statements.get(answer)
        if made is None:
            made = state(self.rule, self.sites, answer)
            remember_in(self._statements, answer, made, STATEMENTS_KEPT)
        return made

    def stated(self, y: Tensor) -> str | None:
        statement = self.statement(self.key(int(y)))
        said = "\n".join(map(str, statement.parts))  # in which numpy shortens long tables
        return None if statement.own or "..." in said else said

    def evaluates(self, y: int) -> bool:
        """Whether states are evaluated for an answer (an id), without a solver."""
        return self._tape(y) is not None

    def _tape(self, y: int) -> tuple[tuple[Step, ...], tuple[int, ...]] | None:
        """The steps and numbers of an answer; None where its rule has variables of its own."""
        if y not in self._tapes:
            statement = self.statement(self.key(y))
            if statement.own:
                self._tapes[y] = None
            else:
                tape = Tape(statement.parts, {site.name: i for i, site in enumerate(self.sites)})
                self._tapes[y] = self._shared.setdefault(tape.steps, tape.steps), tape.constants
        return self._tapes[y]

    def _searched(self, y: int, codes: tuple[int, ...]) -> bool:
        """Whether a state is feasible, by CP-SAT."""
        known = self._cache.get((y, codes))
        if known is None:
            cp, z = load_cpmpy(), torch.tensor([codes])
            fixed = [site == int(x) for site, x in zip(self.sites, self.space.arguments(z), strict=True)]
            solver = cp.SolverLookup.get("ortools", cp.Model(*self.statement(self.key(y)).parts, *fixed))
            known = bool(solver.solve(time_limit=SECONDS, num_workers=1))
            if not known and solver.status().exitstatus != cp.solvers.solver_interface.ExitStatus.UNSATISFIABLE:
                raise ConstraintError(
                    f"CP-SAT could not decide within {SECONDS:g} s whether {self.space.decode(z)[0]!r} is feasible for "
                    f"the answer {self.key(y)!r}. Write the rule with fewer variables of its own."
                )
            remember_in(self._cache, (y, codes), known, CACHE_LIMIT)
        return known
