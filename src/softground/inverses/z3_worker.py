"""What the Z3 inverse runs, in this process or in workers: one query in, one answer out.

An answer depends on its query alone, never on the queries solved before it, so that any number of workers and
any order give the same bits:

- **Table.** Where the dropped sites have few combinations, the formula's truth table is written as one
  bit-vector expression, and one simplification evaluates it. No search, no history.
- **Warm solver.** Otherwise one incremental solver per process enumerates models by blocking clauses. It finds
  the same *set* whatever it did before, so a complete fibre is taken from it.
- **Fresh context.** Where the warm solver reached the cap or gave up, what it found depends on its history. It
  is thrown away, and the query is solved again in a new Z3 context, which is deterministic.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..constraints.smt import SMT, load_z3
from ..errors import InverseError
from .z3_table import TruthTable

Status = Literal["sat", "unsat", "unknown"]
States = list[tuple[int, ...]]


@dataclass(frozen=True)
class Limits:
    """How far to go: the largest table, Z3's deterministic resource limit and its clock limit, per check."""

    table: int
    rlimit: int
    timeout: float


@dataclass(frozen=True)
class Query:
    """All completions of the ``dropped`` sites, up to ``cap``, in lexicographic order."""

    answer: Hashable
    codes: tuple[int, ...]  # of all sites; dropped entries are ignored
    dropped: tuple[int, ...]
    cap: int


@dataclass(frozen=True)
class Draw:
    """One random proposal for a start: codes for all sites, an order of the sites, and a number in [0, 1)."""

    codes: tuple[int, ...]
    order: tuple[int, ...]
    pick: float


@dataclass(frozen=True)
class Search:
    """One state with nothing known; ``draws`` decide which, so that chains start in different places."""

    answer: Hashable
    draws: tuple[Draw, ...]


@dataclass(frozen=True)
class Outcome:
    """``end`` says how a query ended: ``whole`` (these are all), ``capped`` (there are more), ``unknown``."""

    states: States
    end: Literal["whole", "capped", "unknown"]


class Engine:
    """Solves queries for one rule in one process."""

    def __init__(self, smt: SMT, limits: Limits) -> None:
        self.smt = smt
        self.limits = limits
        self.z3 = load_z3()
        self.terms = smt.terms()
        self.table = TruthTable(self.terms)
        self._codes = [{symbol: code for code, symbol in enumerate(s)} for s in self.terms.symbols]
        self._warm: Any = None

    def run(self, job: Query | Search) -> Outcome:
        return self.fibre(job) if isinstance(job, Query) else self.start(job)

    def fibre(self, query: Query) -> Outcome:
        expression = self.smt.expression(query.answer, query.codes, query.dropped)
        if self._combinations(query.dropped) <= self.limits.table:
            states = self.table.solve(expression, query.dropped)
            if states is not None:
                return Outcome(states[: query.cap], "whole" if len(states) <= query.cap else "capped")
        outcome = self._enumerate(self._warm_solver(), expression, query)
        if outcome.end == "whole":
            return outcome
        solver, context = self._fresh_solver()
        return self._enumerate(solver, expression, query, context)

    def start(self, search: Search) -> Outcome:
        """Complete random kept sites by table; failing that, search with random hints and give up hints as needed."""
        for draw in search.draws[:-1]:
            free = self._affordable(draw.order)
            if not free:
                break
            states = self.table.solve(self.smt.expression(search.answer, draw.codes, free), free)
            if states is None:
                break
            if states:
                values = dict(zip(free, states[int(draw.pick * len(states))], strict=True))
                state = tuple(values.get(site, code) for site, code in enumerate(draw.codes))
                return Outcome([state], "whole")
            if len(free) == len(draw.codes):
                return Outcome([], "whole")
        return self._hinted(search)

    def _hinted(self, search: Search) -> Outcome:
        draw = search.draws[-1]
        everything = tuple(range(len(draw.codes)))
        solver, context = self._fresh_solver()
        solver.add(self.smt.expression(search.answer, draw.codes, everything).translate(context))
        variables = [v.translate(context) for v in self.terms.variables]
        hints = {site: variables[site] == self.terms.symbols[site][draw.codes[site]] for site in draw.order}
        while True:
            status = self._check(solver, *hints.values())
            if status == "sat":
                return Outcome([self._read(solver, variables, everything)], "whole")
            if status == "unknown":
                if not hints:
                    return Outcome([], "unknown")
                hints = {}
                continue
            core = {literal.get_id() for literal in solver.unsat_core()}
            guilty = [site for site, literal in hints.items() if literal.get_id() in core]
            if not guilty:
                return Outcome([], "whole")
            del hints[guilty[-1]]

    def _enumerate(self, solver: Any, expression: Any, query: Query, context: Any = None) -> Outcome:
        variables = [self.terms.variables[site] for site in query.dropped]
        if context is not None:
            expression, variables = expression.translate(context), [v.translate(context) for v in variables]
        states: States = []
        solver.push()
        try:
            solver.add(expression)
            while True:
                status = self._check(solver)
                if status != "sat":
                    return Outcome(sorted(states), "whole" if status == "unsat" else "unknown")
                if len(states) == query.cap:
                    return Outcome(sorted(states), "capped")
                states.append(self._read(solver, variables, query.dropped))
                values = [self.terms.symbols[s][c] for s, c in zip(query.dropped, states[-1], strict=True)]
                solver.add(self.z3.Or(*[v != x for v, x in zip(variables, values, strict=True)]))
        finally:
            solver.pop()

    def _check(self, solver: Any, *assumptions: Any) -> Status:
        answer = solver.check(*assumptions)
        for known in ("sat", "unsat", "unknown"):
            if answer == getattr(self.z3, known):
                return known
        raise InverseError(f"Z3 answered {answer!r}; expected sat, unsat or unknown. This version of Z3 is too new.")

    def _read(self, solver: Any, variables: Sequence[Any], sites: Sequence[int]) -> tuple[int, ...]:
        model = solver.model()
        values = (model.eval(v, model_completion=True).as_long() for v in variables)
        return tuple(self._codes[site][value] for site, value in zip(sites, values, strict=True))

    def _warm_solver(self) -> Any:
        if self._warm is None:
            self._warm = self.z3.Solver()
            self._prepare(self._warm, self.terms.bounds)
        return self._warm

    def _fresh_solver(self) -> tuple[Any, Any]:
        context = self.z3.Context()
        solver = self.z3.Solver(ctx=context)
        self._prepare(solver, [bound.translate(context) for bound in self.terms.bounds])
        return solver, context

    def _prepare(self, solver: Any, bounds: list[Any]) -> None:
        solver.set(rlimit=self.limits.rlimit, timeout=math.ceil(1000 * self.limits.timeout))
        solver.add(*bounds)

    def _combinations(self, sites: Sequence[int]) -> int:
        return math.prod(len(self.terms.symbols[site]) for site in sites)

    def _affordable(self, order: tuple[int, ...]) -> tuple[int, ...]:
        """As many sites, in this order, as a table can hold."""
        count = 0
        while count < len(order) and self._combinations(order[: count + 1]) <= self.limits.table:
            count += 1
        return order[:count]


_ENGINES: dict[tuple[str, Limits], Engine] = {}


def work(smt: SMT, limits: Limits, jobs: Sequence[Query | Search]) -> list[Outcome]:
    """Solve some jobs with this process's engine for the rule, which stays warm between calls."""
    key = (smt.token, limits)
    if key not in _ENGINES:
        _ENGINES[key] = Engine(smt, limits)
    return [_ENGINES[key].run(job) for job in jobs]
