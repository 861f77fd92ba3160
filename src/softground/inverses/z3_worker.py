"""What the Z3 inverse runs, in this process or in workers: one query in, one outcome out.

Which model Z3 finds depends on what the process did before, even in a fresh context. So nothing here hands on a
model that Z3 happened to find: an outcome is made of sat and unsat answers alone, and any number of workers and
any order give the same bits (only *whether* a check reaches its resource or time limit can depend on more).

- **Table.** Where the free sites have few combinations, simplifying one expression evaluates the formula on all, and
  the formulas of several queries that drop the same sites at once.
- **Search.** Otherwise a warm, incremental solver enumerates models by blocking clauses. A complete fibre is the
  same set in any order. Of a larger one, the lexicographically first completions are found site by site.
- Three kinds of solver are asked in turn until one knows; 'unknown' from all of them yields no states.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..constraints.smt import SMT, load_z3
from ..errors import InverseError
from .z3_table import Codes, TruthTable

ENGINES = 8  # rules whose warm solvers a process keeps
GROUP = 8  # formulas simplified together; more of them are slower again
KINDS = ("SMT", "QF_FD", "tactics")
STATUSES = ("sat", "unsat", "unknown")


@dataclass(frozen=True)
class Limits:
    """The largest table, and for each check Z3's deterministic resource limit and its limit in seconds."""

    table: int
    rlimit: int
    timeout: float


@dataclass(frozen=True)
class Query:
    """All completions of the dropped sites, up to ``cap``, in lexicographic order."""

    answer: Hashable
    codes: Codes  # of all sites; dropped entries are ignored
    dropped: tuple[int, ...]
    cap: int


@dataclass(frozen=True)
class Search:
    """One state with nothing known. The seed decides which, so that chains start in different places."""

    answer: Hashable
    seed: int
    tries: int  # random proposals to complete by a table before searching


@dataclass(frozen=True)
class Outcome:
    """States, and how the query ended: these are all, there are more than the cap, Z3 gave up, the worker died.
    A search ends ``whole`` with one state, or with none where there is none."""

    states: list[Codes]
    end: Literal["whole", "capped", "unknown", "crashed"]


class Engine:
    """Solves queries for one rule in one process."""

    def __init__(self, smt: SMT, limits: Limits) -> None:
        self.smt, self.limits = smt, limits
        self.z3, self.terms = load_z3(), smt.terms()
        self.table = TruthTable(self.terms)
        self._kinds = list(KINDS)
        self._warm = [self._fresh(kind) for kind in KINDS]

    def run(self, jobs: Sequence[Query | Search]) -> list[Outcome]:
        tabulated = self._tabulate_groups(jobs)
        outcomes = []
        for job, states in zip(jobs, tabulated, strict=True):
            self._kinds = list(KINDS)
            if isinstance(job, Search):
                outcomes.append(self.start(job))
            elif states is None:
                outcomes.append(self.fibre(job))
            else:
                outcomes.append(Outcome(states[: job.cap], "whole" if len(states) <= job.cap else "capped"))
        return outcomes

    def _tabulate_groups(self, jobs: Sequence[Query | Search]) -> list[list[Codes] | None]:
        """The completions of queries that a table can answer, None for the other jobs."""
        found: list[list[Codes] | None] = [None] * len(jobs)
        alike: dict[tuple[int, ...], list[int]] = {}
        for place, job in enumerate(jobs):
            if isinstance(job, Query) and self._fits(job.dropped):
                alike.setdefault(job.dropped, []).append(place)
        for dropped, places in alike.items():
            combinations = math.prod(len(self.terms.symbols[site]) for site in dropped)
            size = max(1, min(GROUP, self.limits.table // combinations))
            for i in range(0, len(places), size):
                group = places[i : i + size]
                queries = [job for place in group if isinstance(job := jobs[place], Query)]
                expressions = [self.smt.expression(query.answer, query.codes, dropped) for query in queries]
                for place, states in zip(group, self.table.solve(expressions, dropped), strict=True):
                    found[place] = states
        return found

    def fibre(self, query: Query) -> Outcome:
        """By search, where no table is possible."""
        expression = self.smt.expression(query.answer, query.codes, query.dropped)
        for solver in self._warm:
            outcome = self._enumerate(solver, expression, query)
            if outcome.end != "unknown":
                break
        if outcome.end != "capped":
            return outcome
        ordered = self._ordered(query.answer, query.codes, query.dropped, (0,) * len(query.codes))
        try:
            return Outcome(list(itertools.islice(ordered, query.cap)), "capped")
        except TimeoutError:
            return Outcome([], "unknown")

    def start(self, search: Search) -> Outcome:
        """Draw most sites and complete the others by a table, a few times; then go through the whole space."""
        chance = random.Random(search.seed)
        for last in [False] * search.tries + [True]:
            codes = tuple(int(chance.random() * len(symbols)) for symbols in self.terms.symbols)
            # Small alphabets are drawn or decided first, which leaves the most combinations to a table.
            order = tuple(sorted(range(len(codes)), key=lambda i: len(self.terms.symbols[i]) + chance.random()))
            free = order if last else self._affordable(order)
            try:
                found = next(self._ordered(search.answer, codes, free, codes), None) if free else None
            except TimeoutError:
                return Outcome([], "unknown")
            if found is not None:
                value = dict(zip(free, found, strict=True))
                return Outcome([tuple(value.get(site, code) for site, code in enumerate(codes))], "whole")
            if free == order:
                break
        return Outcome([], "whole")

    def _ordered(self, answer: Hashable, codes: Codes, free: tuple[int, ...], first: Codes) -> Iterator[Codes]:
        """Completions of the free sites in lexicographic order, each site's codes counted from ``first`` on.
        Sites are decided one after the other until a table can take the rest, so that no model is needed."""
        sizes = [len(symbols) for symbols in self.terms.symbols]
        states = self._tabulate(answer, codes, free)
        if states is not None:
            yield from sorted(states, key=lambda s: [(c - first[i]) % sizes[i] for c, i in zip(s, free, strict=True)])
            return
        site, rest = free[0], free[1:]
        for code in (*range(first[site], sizes[site]), *range(first[site])):
            known = (*codes[:site], code, *codes[site + 1 :])
            if self._satisfiable(self.smt.expression(answer, known, rest)):
                yield from ((code, *more) for more in (self._ordered(answer, known, rest, first) if rest else [()]))

    def _tabulate(self, answer: Hashable, codes: Codes, free: tuple[int, ...]) -> list[Codes] | None:
        """All completions in order; None where they are too many for a table, or Z3's simplifier is not enough."""
        return self.table.solve([self.smt.expression(answer, codes, free)], free)[0] if self._fits(free) else None

    def _affordable(self, order: tuple[int, ...]) -> tuple[int, ...]:
        """As many of the last sites as fit a table."""
        return next(order[i:] for i in range(len(order) + 1) if i == len(order) or self._fits(order[i:]))

    def _fits(self, free: tuple[int, ...]) -> bool:
        return math.prod(len(self.terms.symbols[site]) for site in free) <= self.limits.table

    def _enumerate(self, solver: Any, expression: Any, query: Query) -> Outcome:
        states: list[Codes] = []
        solver.push()
        try:
            solver.add(expression)
            while (status := self._check(solver)) == "sat":
                if len(states) == query.cap:
                    return Outcome([], "capped")
                model = solver.model()
                values = [model.eval(self.terms.variables[s], model_completion=True).as_long() for s in query.dropped]
                here = list(zip(query.dropped, values, strict=True))
                states.append(tuple(self.terms.symbols[site].index(value) for site, value in here))
                solver.add(self.z3.Or(*[self.terms.variables[site] != value for site, value in here]))
        finally:
            solver.pop()
        return Outcome(sorted(states), "whole") if status == "unsat" else Outcome([], "unknown")

    def _satisfiable(self, expression: Any) -> bool:
        """With much left open a warm solver can be caught in what it learnt before (seconds, for 5 ms in a new one)."""
        for kind in tuple(self._kinds):
            status = self._check(self._fresh(kind, expression))
            if status != "unknown":
                self._kinds.sort(key=lambda other: other != kind)  # ask the one that knew first, within this job
                return status == "sat"
        raise TimeoutError

    def _check(self, solver: Any) -> str:
        status = solver.check()
        for known in STATUSES:
            if status == getattr(self.z3, known):
                return known
        raise InverseError(f"Z3 answered {status!r}; expected sat, unsat or unknown. Try another z3-solver release.")

    def _fresh(self, kind: str, *assertions: Any) -> Any:
        """The one quickest on small formulas gets a share of the limit; QF_FD turns hard ones into bits."""
        z3 = self.z3
        solver = z3.SimpleSolver() if kind == "SMT" else z3.SolverFor(kind) if kind == "QF_FD" else z3.Solver()
        rlimit = max(1, self.limits.rlimit // 4) if kind == "SMT" else self.limits.rlimit
        solver.set(rlimit=rlimit, timeout=math.ceil(1000 * self.limits.timeout))
        solver.add(*self.terms.bounds, *assertions)
        return solver


_engines: dict[tuple[str, Limits], Engine] = {}


def work(smt: SMT, limits: Limits, jobs: Sequence[Query | Search]) -> list[Outcome]:
    """Solve jobs with this process's engine for the rule, which stays warm between calls."""
    engine = _engines.pop((smt.token, limits), None) or Engine(smt, limits)
    _engines[smt.token, limits] = engine  # at the end: the least recently used comes first
    while len(_engines) > ENGINES:
        del _engines[next(iter(_engines))]
    return engine.run(jobs)
