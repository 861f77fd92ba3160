"""CP-SAT in one process: a query in, a reply out.

The model of an answer is made once, by CPMpy; a query only narrows the domains of the sites that it keeps. CP-SAT with
one thread starts every search afresh, so that a reply depends on the query alone.

- **All completions** are found by one search that goes on after each. Where helping variables can take several values
  for the same completion, those found are forbidden and the search begins again.
- **Of more than the cap**, the lexicographically first are found by a search that decides the sites in their order,
  each from its smallest code up (so its k-th solution is the k-th of all).
- **A first state** is near symbols that are drawn at random: they are given as hints.

A quick search without presolve comes first, and one with all that CP-SAT has if that does not end: soon where nothing
was found, because linear sums that contradict each other are seen at once by a linear program and by search never.
"""

from __future__ import annotations

import random
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any

from ..constraints.cpmpy import CPMpy, CPSATModel, load_cp_model
from .engine import Codes, End, Engine, FibreQuery, Limits, Query, Reply, StartQuery, engine
from .memory import held

MODELS_KEPT = 1024  # one for each answer
REPEATS = 1000  # of completions found already, after which these are forbidden
HINT_CONFLICTS = 1000
NO_LIMIT = 2**20  # MiB
QUICK: dict[str, Any] = {"cp_model_presolve": False, "linearization_level": 0, "symmetry_level": 0}
NO_SETTINGS: dict[str, Any] = {}
SEARCHES = ((QUICK, 1 / 1000), (QUICK, 1 / 4), (NO_SETTINGS, 1.0))  # with their shares of the work allowed


class GaveUp(Exception):
    """No search ended within the limits."""

    def __init__(self, end: End) -> None:
        self.end = end


class CPSATEngine(Engine):
    """CP-SAT for one rule in one process."""

    def __init__(self, rule: CPMpy, limits: Limits) -> None:
        self.rule, self.limits, self.cp = rule, limits, load_cp_model()
        self._models: OrderedDict[Hashable, CPSATModel] = OrderedDict()
        self._ends = 0.0  # when the query gives up
        self._turn = threading.Lock()  # a search of one thread after the other, because they share models
        cp = self.cp

        class Collected(cp.CpSolverSolutionCallback):  # type: ignore[name-defined, misc]
            """Different values of some variables, up to a number; it gives up after many repeats."""

            def __init__(self, variables: Sequence[object], most: int) -> None:
                super().__init__()
                self.variables, self.most, self.found = variables, most, dict[Codes, None]()
                self.repeats, self.stopped = 0, False

            def on_solution_callback(self) -> None:
                values = tuple(self.value(variable) for variable in self.variables)
                self.repeats += values in self.found
                self.found[values] = None
                if len(self.found) >= self.most or self.repeats > REPEATS + len(self.found):
                    self.stopped = True
                    self.stop_search()

        self._collected = Collected

    def solve(self, queries: Sequence[Query]) -> list[Reply]:
        return [self._solve(query) for query in queries]

    def _solve(self, query: Query) -> Reply:
        try:
            with self._turn:
                self._ends = time.monotonic() + self.limits.soft
                return self.replies([query])[0]
        except GaveUp as up:
            return Reply([], up.end)
        except MemoryError:
            return Reply([], "memory")

    def fibres(self, queries: Sequence[FibreQuery]) -> list[Reply]:
        return [self._fibre(query) for query in queries]

    def _fibre(self, query: FibreQuery) -> Reply:
        model, sites = self._model(query.answer), query.dropped
        model.fix(query.codes, sites)
        variables = [model.sites[site] for site in sites]
        found, whole = self._all(model.native, variables, query.cap + 1)
        if not whole and not query.listing:
            ordered = model.native.clone()
            ordered.add_decision_strategy(variables, self.cp.CHOOSE_FIRST, self.cp.SELECT_MIN_VALUE)
            found, _ = self._all(ordered, variables, query.cap, search_branching=self.cp.FIXED_SEARCH)
        states = sorted(model.codes(values, sites) for values in found)
        return Reply(states if whole else states[: query.cap], "whole" if whole else "capped")

    def start(self, query: StartQuery) -> Reply:
        chance, sizes, model = random.Random(query.seed), self.rule.space.sizes, self._model(query.answer)
        known = query.known or (-1,) * len(sizes)
        order = [site for site, code in enumerate(known) if code < 0]
        chance.shuffle(order)
        model.fix(known, order)
        model.native.clear_hints()
        for site in order:
            model.native.add_hint(model.sites[site], chance.choice(model.numbers[site]))
        hints = {"random_seed": query.seed % 2**31, "hint_conflict_limit": HINT_CONFLICTS}
        try:
            found, _ = self._search(model.native, model.sites, 1, **hints)
        finally:
            model.native.clear_hints()
        return Reply([model.codes(values, range(len(sizes))) for values in found], "whole")

    def _all(self, native: Any, variables: Sequence[Any], most: int, **more: Any) -> tuple[list[Codes], bool]:
        """Distinct values of the variables, at most ``most``, and whether they are all."""
        found: list[Codes] = []
        while True:
            some, whole = self._search(native, variables, most - len(found), enumerate_all_solutions=True, **more)
            found += some
            if whole or len(found) >= most:
                return found, whole
            native = native.clone()
            native.add_forbidden_assignments(variables, some)

    def _search(self, native: object, variables: Sequence[object], most: int, **more: Any) -> tuple[list[Codes], bool]:
        """One search; raise if it ran out of time or memory."""
        end: End = "unknown"
        hopeless = False
        for search, share in SEARCHES:
            if search and hopeless:
                continue
            left = self._ends - time.monotonic()
            if left <= 0:
                raise GaveUp("timeout")
            seconds, work = min(left, self.limits.timeout), self.limits.work * share
            solver, collected = self.cp.CpSolver(), self._collected(variables, most)
            parameters = {"num_workers": 1, "max_time_in_seconds": seconds, "max_deterministic_time": work}
            now = None if self.limits.memory is None else held()  # to ask takes a tenth of a small search
            mebibytes = NO_LIMIT if now is None or self.limits.memory is None else now + self.limits.memory
            parameters["max_memory_in_mb"] = mebibytes
            for name, value in (parameters | {"catch_sigint_signal": False} | search | more).items():
                setattr(solver.parameters, name, value)
            status = solver.solve(native, collected)
            if status in (self.cp.OPTIMAL, self.cp.INFEASIBLE):
                return list(collected.found), True
            if collected.stopped:
                return list(collected.found), False
            hopeless = not collected.found
            worked = solver.response_proto.deterministic_time >= work
            end = "unknown" if worked else "memory" if (held() or 0) >= mebibytes else "timeout"
        raise GaveUp(end)

    def _model(self, answer: Hashable) -> CPSATModel:
        model = self._models.pop(answer, None) or self.rule.model(answer)
        self._models[answer] = model  # at the end: the least recently used is first
        while len(self._models) > MODELS_KEPT:
            self._models.popitem(last=False)
        return model


@engine.register
def _(rule: CPMpy, limits: Limits) -> Engine:
    return CPSATEngine(rule, limits)
