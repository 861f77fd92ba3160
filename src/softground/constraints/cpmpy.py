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

import copy
import uuid
from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ..errors import ConstraintError
from ..spaces.categorical import Categorical
from .answers import Interned, remember_in
from .parted import SUMS, Conjunct, Parted
from .statement import Native, Rule, Statement, load_cpmpy, numbers, site_variables, stated, variables_of
from .tape import Step, Tape, run
from .terms import DIFFERENT

CACHE_LIMIT = 2**18  # states whose feasibility took a solver
STATEMENTS_KEPT = 2**12
MODELS_KEPT = 256
SECONDS = 60.0  # for a solver to say whether a state is feasible


class CPMpy(Parted):
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
        self._models: dict[int, Native] = {}
        self._cache: dict[tuple[int, tuple[int, ...]], bool] = {}
        self._rules, self._split, self._coded = {}, {}, {}

    def __repr__(self) -> str:
        return f"CPMpy({self.space!r})"

    def __getstate__(self) -> dict[str, Any]:
        """What a worker process needs; answers go along with each query."""
        return {"rule": self.rule, "alphabets": self.space.alphabets, "token": self.token}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.rule, self.token, self.space = state["rule"], state["token"], Categorical(state["alphabets"])
        self._forget()

    def feasible(self, z: Tensor, y: Tensor) -> Tensor:
        """Exact; answers whose constraints differ in numbers only are evaluated together."""
        columns, found = self.space.arguments(z), torch.zeros(len(z), dtype=torch.bool, device=z.device)
        for rows, steps, constants in self._alike(y):
            if steps is not None:
                found[rows] = run(steps, [column[rows] for column in columns], constants)
            else:
                states = zip(y[rows].tolist(), map(tuple, z[rows].tolist()), strict=True)
                found[rows] = torch.tensor([self._searched(*s) for s in states], dtype=torch.bool, device=z.device)
        return found

    def completions(self, z: Tensor, y: Tensor, sites: Sequence[int]) -> Tensor:
        """Which combinations of some sites' symbols go with the rest of each state, bool ``[rows, combinations]``.

        Combinations are in lexicographic order. No answer's rule may have variables of its own. What depends on one of
        these sites, or on none, is evaluated once for all symbols of the others.
        """
        axes = dict(zip(sites, range(1, len(sites) + 1), strict=True))
        shape = (len(z), *(self.space.sizes[site] for site in sites))
        found = torch.zeros(shape, dtype=torch.bool, device=z.device)
        symbols = [torch.tensor(values, device=z.device) for values in self.numbers]
        for rows, steps, constants in self._alike(y):
            assert steps is not None
            known = self.space.arguments(z[rows])
            columns = []
            for site in range(self.space.sites):
                column = symbols[site] if site in axes else known[site]
                columns.append(column.view([-1 if axis == axes.get(site, 0) else 1 for axis in range(len(shape))]))
            apart = constants if constants.dim() == 1 else constants.view(len(rows), *([1] * len(sites)), -1)
            found[rows] = run(steps, columns, apart)
        return found.flatten(1)

    def _alike(self, y: Tensor) -> Iterator[tuple[Tensor, tuple[Step, ...] | None, Tensor]]:
        """Rows whose answers share their steps, these steps, and the numbers in them: ``[k]`` or ``[rows, k]``."""
        answers, place = torch.unique(y, return_inverse=True)
        alike: dict[int, tuple[Any, list[tuple[int, tuple[int, ...]]]]] = {}
        for number, i in enumerate(answers.tolist()):
            steps, constants = self._tape(i) or (None, ())
            alike.setdefault(id(steps), (steps, []))[1].append((number, constants))
        for steps, members in alike.values():
            those = torch.tensor([number for number, _ in members], device=y.device)
            rows = torch.isin(place, those).nonzero().flatten()
            table = torch.tensor([constants for _, constants in members], dtype=torch.long, device=y.device)
            yield rows, steps, table[torch.searchsorted(those, place[rows])] if len(members) > 1 else table[0]

    @property
    def sites(self) -> Any:
        """CPMpy's variables for the sites, an array that the rule is called with."""
        if self._sites is None:
            self._sites = site_variables(self.space)
        return self._sites

    @cached_property
    def numbers(self) -> list[tuple[int, ...]]:
        """Of each site, the number that each code stands for."""
        return numbers(self.space)

    def statement(self, answer: Hashable) -> Statement:
        """What the rule says for an answer in its exact form, or for a relation; the latest are remembered."""
        made = self._statements.get(answer)
        if made is None:
            made = stated(self.rule, self.sites, answer)
            remember_in(self._statements, answer, made, STATEMENTS_KEPT)
        return made

    def conjuncts(self, answer: Hashable) -> Iterator[Conjunct]:
        places = {site.name: i for i, site in enumerate(self.sites)}
        for part in self.statement(answer).parts:
            names = {variable.name for variable in variables_of([part])}
            yield {places[name] for name in names & places.keys()}, names - places.keys(), part

    def restricted(self, space: Categorical) -> Parted:
        def rule(z: Any, described: Any) -> Any:
            swaps = {id(self.sites[site]): variable for site, variable in zip(described[0], z, strict=True)}
            return copy.deepcopy(self.said(*described), swaps)

        return CPMpy(rule, space)

    def read(self, expression: Any) -> tuple[str, list[int], int] | None:
        name, arguments, number = DIFFERENT, expression.args, 0
        if expression.name in SUMS:
            name, (compared, number) = expression.name, expression.args
            arguments = compared.args if getattr(compared, "name", "") == "sum" else ()
        elif expression.name != "alldifferent":
            return None
        places = {id(variable): site for site, variable in enumerate(self.sites)}
        sites = [places.get(id(variable), -1) for variable in arguments]
        return (name, sites, int(number)) if hasattr(number, "__index__") and sites else None

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
            if y not in self._models:
                model = Native(self.sites, self.space, self.statement(self.key(y)).parts)
                remember_in(self._models, y, model, MODELS_KEPT)
            known = self._models[y].holds(codes, SECONDS)
            if known is None:
                state = self.space.decode(torch.tensor([codes]))[0]
                raise ConstraintError(
                    f"CP-SAT could not decide within {SECONDS:g} s whether {state!r} is feasible for the answer "
                    f"{self.key(y)!r}. Write the rule with fewer variables of its own."
                )
            remember_in(self._cache, (y, codes), known, CACHE_LIMIT)
        return known
