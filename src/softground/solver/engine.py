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
import time
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from ..constraints.smt import SMT, load_z3
from ..errors import InverseError
from .memory import bounded, short_of_memory
from .queries import GaveUp, Job, Late, Limits, Outcome, Query, Search
from .truth_table import Codes, TruthTable

ENGINES = 8  # rules whose warm solvers a process keeps
GROUP = 8  # formulas simplified together; more of them are slower again
KINDS = ("SMT", "QF_FD", "tactics")
STATUSES = ("sat", "unsat", "unknown")
Step = tuple[list[int], list[Outcome]]


class Engine:
    """Solves queries for one rule in one process."""

    def __init__(self, smt: SMT, limits: Limits) -> None:
        self.smt, self.limits = smt, limits
        self.z3, self.terms = load_z3(), smt.terms()
        self.table = TruthTable(self.terms)
        self._kinds = list(KINDS)
        self._warm = [self._fresh(kind) for kind in KINDS]
        self._ends, self._tight, self._timed = math.inf, False, False

    def run(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Solve all of them."""
        found = {place: outcome for step in self.steps(jobs) for place, outcome in zip(*step, strict=False)}
        return [found[place] for place in range(len(jobs))]

    def steps(self, jobs: Sequence[Job], seconds: float = math.inf) -> Iterator[Step]:
        """Solve, step by step: the places of the jobs that come next with nothing, then the same with their outcomes.

        What is left after ``seconds`` is not begun. Faults are outcomes too, of the jobs that they befell.
        """
        ends = time.monotonic() + seconds
        for places in self._groups(jobs):
            if time.monotonic() > ends:
                return
            yield places, []
            yield places, self._guarded([jobs[place] for place in places])

    def _groups(self, jobs: Sequence[Job]) -> list[list[int]]:
        """Queries that one table can answer together, then the others one by one."""
        alike: dict[tuple[int, ...], list[int]] = {}
        others: list[list[int]] = []
        for place, job in enumerate(jobs):
            if isinstance(job, Query) and self._fits(job.dropped) and not job.alone:
                alike.setdefault(job.dropped, []).append(place)
            else:
                others.append([place])
        groups = []
        for dropped, places in alike.items():
            combinations = math.prod(len(self.terms.symbols[site]) for site in dropped)
            size = max(1, min(GROUP, self.limits.table // combinations))
            groups += [places[i : i + size] for i in range(0, len(places), size)]
        return groups + others

    def _guarded(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Outcomes of a group within the limits; where memory was up, each is asked again alone."""
        self._ends, self._timed = time.monotonic() + self.limits.soft, False
        try:
            with bounded(self.z3, self.limits.memory):
                return self._solved(jobs)
        except Late:
            return [Outcome([], "timeout", alone=len(jobs) == 1)] * len(jobs)
        except (MemoryError, self.z3.Z3Exception) as error:
            if not short_of_memory(self.z3, error):
                raise InverseError(f"Z3 failed: {error}. Try another z3-solver release.") from error
            self._tight, end = True, Outcome([], "memory")
        finally:
            if self._tight:  # solvers with little time left or half an answer are of no more use
                self._warm, self._tight = [self._fresh(kind) for kind in KINDS], False
        return [end] if len(jobs) == 1 else [outcome for job in jobs for outcome in self._guarded([job])]

    def _solved(self, jobs: Sequence[Job]) -> list[Outcome]:
        first = jobs[0]
        if isinstance(first, Search):
            return [self.start(first)]
        queries = [job for job in jobs if isinstance(job, Query)]
        tabulated: list[list[Codes] | None] = [None] * len(queries)
        if self._fits(first.dropped):
            expressions = [self.smt.expression(query.answer, query.codes, query.dropped) for query in queries]
            tabulated = self.table.solve(expressions, first.dropped)
        outcomes = []
        for query, states in zip(queries, tabulated, strict=True):
            self._kinds = list(KINDS)
            if states is None:
                outcomes.append(self.fibre(query))
            else:
                outcomes.append(Outcome(states[: query.cap], "whole" if len(states) <= query.cap else "capped"))
        return outcomes

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
        except GaveUp:
            return self._unknown()

    def start(self, search: Search) -> Outcome:
        """Draw most sites and complete the others by a table, a few times; then go through the whole space."""
        chance = random.Random(search.seed)
        self._kinds = list(KINDS)
        for last in [False] * search.tries + [True]:
            codes = tuple(int(chance.random() * len(symbols)) for symbols in self.terms.symbols)
            # Small alphabets are drawn or decided first, which leaves the most combinations to a table.
            order = tuple(sorted(range(len(codes)), key=lambda i: len(self.terms.symbols[i]) + chance.random()))
            free = order if last else self._affordable(order)
            try:
                found = next(self._ordered(search.answer, codes, free, codes), None) if free else None
            except GaveUp:
                return self._unknown()
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
        self._left()
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
        return Outcome(sorted(states), "whole") if status == "unsat" else self._unknown()

    def _satisfiable(self, expression: Any) -> bool:
        """With much left open a warm solver can be caught in what it learnt before (seconds, for 5 ms in a new one)."""
        for kind in tuple(self._kinds):
            status = self._check(self._fresh(kind, expression))
            if status != "unknown":
                self._kinds.sort(key=lambda other: other != kind)  # ask the one that knew first, within this job
                return status == "sat"
        raise GaveUp

    def _unknown(self) -> Outcome:
        return Outcome([], "timeout" if self._timed else "unknown")

    def _left(self) -> float:
        """Seconds that this query still has."""
        left = self._ends - time.monotonic()
        if left <= 0:
            raise Late
        return left

    def _check(self, solver: Any) -> str:
        if (left := self._left()) < self.limits.timeout:
            solver.set(timeout=math.ceil(1000 * left))
            self._tight = True
        began, status = time.monotonic(), solver.check()
        known = next((name for name in STATUSES if status == getattr(self.z3, name)), None)
        if known is None:
            raise InverseError(
                f"Z3 answered {status!r}; expected sat, unsat or unknown. Try another z3-solver release."
            )
        if known == "unknown":
            if "memory" in (reason := solver.reason_unknown()):
                raise MemoryError(reason)
            # Some solvers say 'canceled' for either limit.
            self._timed |= "timeout" in reason or time.monotonic() - began >= min(left, self.limits.timeout)
        return known

    def _fresh(self, kind: str, *assertions: Any) -> Any:
        """The one quickest on small formulas gets a share of the limit; QF_FD turns hard ones into bits."""
        z3 = self.z3
        solver = z3.SimpleSolver() if kind == "SMT" else z3.SolverFor(kind) if kind == "QF_FD" else z3.Solver()
        rlimit = max(1, self.limits.rlimit // 4) if kind == "SMT" else self.limits.rlimit
        solver.set(rlimit=rlimit, timeout=math.ceil(1000 * self.limits.timeout))
        solver.add(*self.terms.bounds, *assertions)
        return solver


_engines: dict[tuple[str, Limits], Engine] = {}


def work(smt: SMT, limits: Limits, jobs: Sequence[Job]) -> list[Outcome]:
    """Solve jobs with this process's engine for the rule, which stays warm between calls."""
    engine = _engines.pop((smt.token, limits), None) or Engine(smt, limits)
    _engines[smt.token, limits] = engine  # at the end: the least recently used comes first
    while len(_engines) > ENGINES:
        del _engines[next(iter(_engines))]
    return engine.run(jobs)
