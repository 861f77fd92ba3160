"""Z3 in one process: a query in, a reply out.

Which model Z3 finds depends on what the process did before. So no reply holds a model: it is made of *sat* and *unsat*
answers alone, and any number of processes and any order of queries give the same bits. (Only *whether* a check reaches
its resource or time limit can depend on more.)

- **Table.** Where the free sites have few combinations, the formula is evaluated on all of them, and for several
  queries that drop the same sites at once (:mod:`~softground.solver.truth_table`).
- **Search.** Otherwise a warm, incremental solver lists models by blocking clauses. A complete fibre is the same set in
  any order. Of a larger one, the lexicographically first completions are found site by site.

Three kinds of solver are asked in turn until one knows. 'Unknown' from all of them yields no states.
"""

import itertools
import math
import random
import time
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from ..constraints.smt import SMT, load_z3
from ..errors import InverseError
from .engine import Codes, End, Engine, FibreQuery, Limits, Query, Reply, StartQuery, engine
from .memory import bounded, short_of_memory
from .truth_table import TruthTable

KINDS = ("SMT", "QF_FD", "tactics")  # of solvers: quick on small formulas; by bits, for hard ones; Z3's own choice


class GaveUp(Exception):
    """Every kind of solver gave up, or the query's time is over."""


class Z3Engine(Engine):
    """Z3 for one rule in one process."""

    def __init__(self, smt: SMT, limits: Limits) -> None:
        self.smt, self.limits = smt, limits
        self.z3, self.terms = load_z3(), smt.terms
        self.table = TruthTable(self.terms)
        self._kinds = list(KINDS)
        self._warm = [self._fresh(kind) for kind in KINDS]
        self._ends = math.inf  # when the query gives up
        self._worn = False  # whether warm solvers have a shorter timeout or half an answer, and must be replaced
        self._timed_out = False  # whether a check of this query reached its time limit

    def solve(self, queries: Sequence[Query]) -> list[Reply]:
        """Replies to a group of queries within the limits. Where it fails, each of them is asked again alone."""
        self._ends, self._timed_out = time.monotonic() + self.limits.soft, False
        try:
            with bounded(self.z3, self.limits.memory):
                return self.replies(queries)
        except GaveUp:
            end: End = "timeout" if self._timed_out else "unknown"
        except (MemoryError, self.z3.Z3Exception) as error:
            if not short_of_memory(self.z3, error):
                raise InverseError(f"Z3 failed: {error}. Try another z3-solver release.") from error
            self._worn, end = True, "memory"
        finally:
            if self._worn:
                self._warm, self._worn = [self._fresh(kind) for kind in KINDS], False
        return [Reply([], end)] if len(queries) == 1 else [self.solve([query])[0] for query in queries]

    def fibres(self, queries: Sequence[FibreQuery]) -> list[Reply]:
        """Replies to queries that drop the same sites, by one table if it is small enough."""
        tabulated: list[list[Codes] | None] = [None] * len(queries)
        if self._fits(queries[0].dropped):
            expressions = [self.smt.expression(query.answer, query.codes, query.dropped) for query in queries]
            tabulated = self.table.solve(expressions, queries[0].dropped)
        return [
            self._search(query)
            if states is None
            else Reply(states[: query.cap], "whole" if len(states) <= query.cap else "capped")
            for query, states in zip(queries, tabulated, strict=True)
        ]

    def _search(self, query: FibreQuery) -> Reply:
        """A fibre without a table."""
        self._kinds = list(KINDS)
        expression = self.smt.expression(query.answer, query.codes, query.dropped)
        states = None
        for solver in self._warm:
            if states is None and not self._timed_out:
                states = self._enumerate(solver, expression, query)
        if states is None:
            raise GaveUp
        if len(states) <= query.cap:
            return Reply(sorted(states), "whole")
        ordered = self._ordered(query.answer, query.codes, query.dropped, (0,) * len(query.codes))
        return Reply(list(itertools.islice(ordered, query.cap)), "capped")

    def start(self, query: StartQuery) -> Reply:
        """Draw most sites and complete the others by a table, a few times; then go through the whole space."""
        self._kinds, chance = list(KINDS), random.Random(query.seed)
        known = query.known or (-1,) * len(self.terms.symbols)
        open_sites = [site for site, fixed in enumerate(known) if fixed < 0]
        if not open_sites:
            holds = self._satisfiable(self.smt.expression(query.answer, known, ()))
            return Reply([known] if holds else [], "whole")
        for last in [False] * query.tries + [True]:
            drawn = (int(chance.random() * len(symbols)) for symbols in self.terms.symbols)
            codes = tuple(code if fixed < 0 else fixed for code, fixed in zip(drawn, known, strict=True))
            # Small alphabets are drawn or decided first, which leaves the most combinations to a table.
            order = tuple(sorted(open_sites, key=lambda i: len(self.terms.symbols[i]) + chance.random()))
            tails = (order[i:] for i in range(len(order)))
            free = order if last else next((tail for tail in tails if self._fits(tail)), ())
            found = next(self._ordered(query.answer, codes, free, codes), None) if free else None
            if found is not None:
                value = dict(zip(free, found, strict=True))
                return Reply([tuple(value.get(site, code) for site, code in enumerate(codes))], "whole")
            if free == order:
                break
        return Reply([], "whole")

    def _ordered(self, answer: Hashable, codes: Codes, free: tuple[int, ...], first: Codes) -> Iterator[Codes]:
        """Completions of the free sites in lexicographic order, each site's codes counted from ``first`` on.
        Sites are decided one after the other until a table can take the rest, so no model is needed."""
        sizes = [len(symbols) for symbols in self.terms.symbols]
        self._seconds_left()
        states = self.table.solve([self.smt.expression(answer, codes, free)], free)[0] if self._fits(free) else None
        if states is not None:
            yield from sorted(states, key=lambda s: [(c - first[i]) % sizes[i] for c, i in zip(s, free, strict=True)])
            return
        site, rest = free[0], free[1:]
        for code in (*range(first[site], sizes[site]), *range(first[site])):
            known = (*codes[:site], code, *codes[site + 1 :])
            if self._satisfiable(self.smt.expression(answer, known, rest)):
                yield from ((code, *more) for more in (self._ordered(answer, known, rest, first) if rest else [()]))

    def _fits(self, free: tuple[int, ...]) -> bool:
        return math.prod(len(self.terms.symbols[site]) for site in free) <= self.limits.table

    def _enumerate(self, solver: Any, expression: Any, query: FibreQuery) -> list[Codes] | None:
        """Up to one completion more than the cap, in any order; None where the solver does not know."""
        states: list[Codes] = []
        solver.push()
        try:
            solver.add(expression)
            while len(states) <= query.cap and (status := self._check(solver)) != "unsat":
                if status == "unknown":
                    return None
                model = solver.model()
                values = [model.eval(self.terms.variables[s], model_completion=True).as_long() for s in query.dropped]
                here = list(zip(query.dropped, values, strict=True))
                states.append(tuple(self.terms.symbols[site].index(value) for site, value in here))
                solver.add(self.z3.Or(*[self.terms.variables[site] != value for site, value in here]))
        finally:
            solver.pop()
        return states

    def _satisfiable(self, expression: object) -> bool:
        """By a new solver: where much is open, what a warm one has learnt can mislead it (seconds instead of 5 ms)."""
        for kind in tuple(self._kinds):
            status = self._check(self._fresh(kind, expression))
            if status != "unknown":
                self._kinds.sort(key=lambda other: other != kind)  # within this query, the kind that knew comes first
                return status == "sat"
        raise GaveUp

    def _seconds_left(self) -> float:
        left = self._ends - time.monotonic()
        if left <= 0:
            self._timed_out = True
            raise GaveUp
        return left

    def _check(self, solver: Any) -> str:
        if (left := self._seconds_left()) < self.limits.timeout:
            solver.set(timeout=math.ceil(1000 * left))
            self._worn = True
        began, status = time.monotonic(), repr(solver.check())
        if status not in ("sat", "unsat", "unknown"):
            raise InverseError(f"Z3 answered {status}; expected sat, unsat or unknown. Try another z3-solver release.")
        if status == "unknown":
            if "memory" in (reason := solver.reason_unknown()):
                raise MemoryError(reason)
            # Some solvers say 'canceled' for either limit.
            self._timed_out |= "timeout" in reason or time.monotonic() - began >= min(left, self.limits.timeout)
        return status

    def _fresh(self, kind: str, *assertions: Any) -> Any:
        """A new solver; the first kind gets a share of the resource limit only."""
        z3 = self.z3
        solver = z3.SimpleSolver() if kind == "SMT" else z3.SolverFor(kind) if kind == "QF_FD" else z3.Solver()
        rlimit = max(1, int(self.limits.work) // 4) if kind == "SMT" else int(self.limits.work)
        solver.set(rlimit=rlimit, timeout=math.ceil(1000 * self.limits.timeout))
        solver.add(*self.terms.bounds, *assertions)
        return solver


@engine.register
def _(rule: SMT, limits: Limits) -> Engine:
    return Z3Engine(rule, limits)
