"""The base of inverses by a solver: fibres, starts and lists become queries; replies are cached.

Fibres are cached across steps, because chains revisit states. The others are solved in this process, in many, or on
other machines (:mod:`~softground.solver`); replies do not depend on which.
"""

from __future__ import annotations

import itertools
import math
import time
from abc import abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from ..constraints.base import Constraint
from ..errors import InverseError, NoLaw
from ..preparing import preparing, time_left, within
from ..projections.base import Dropped
from ..solver import backend
from ..solver.crew import Crew
from ..solver.engine import FAULTS, End, FibreQuery, Limits, Query, Reply, StartQuery
from ..target import Target
from .base import Fibre, Solving, Start, pinned
from .enumeration import listed
from .sets import Law, Listed

MOST_TABLES = 4096  # to list S_y
MOST_WORKERS = 4096
QUERIES_PER_WORKER = 64  # between reports of progress
START_RETRIES = 3  # with other seeds, after the solver gave up or died
LAW_SECONDS = 60.0  # to list S_y for a law outside a budget
Key = tuple[int, tuple[int, ...], tuple[int, ...]]


class Solved(Solving):
    """Fibres, starts and solutions of a ``rule`` through a solver; ``constraint`` states the same rule.

    First states of answers in ``begun`` are drawn from earlier lists.

    Parameters
    ----------
    cap
        Maximum number of completions of a searched fibre; a larger one is cut and incomplete.
    table
        Maximum number of combinations of the dropped sites to evaluate instead of searching; 0 always searches.
    work, timeout
        Per check, the solver's own deterministic measure of work (``rlimit`` of Z3, of which 2 million are about a
        second; of CP-SAT about seconds), and seconds. Beyond either the reply is 'unknown' and the fibre incomplete.
    limit, memory
        Seconds and MiB (None sets no limit) per query. A query gives up after half of the seconds; with several
        workers, a process that does not is killed.
    workers, chunk
        Processes; 1 solves in this one, where nothing can be killed. And the queries that a worker gets at a time; None
        cuts each call's into four chunks per worker. Inside ``joblib.parallel_config`` with a backend for other
        machines (Dask, Ray, Spark), its workers solve instead.
    cache
        Number of most recently used fibres to keep. ``queries`` counts requested fibres, ``hits`` cached ones.
    tries
        Random proposals for a table to complete before the search for a first state.
    solutions_cap
        Maximum number of states to list per answer.
    """

    refused = False  # whether S_y exceeded a task's budget
    for_lists: ClassVar[dict[str, Any]] = {}  # settings of an inverse that only lists

    @property
    @abstractmethod
    def solver(self) -> tuple[str, str]:
        """The solver's name, and its limits per check, as they are called."""

    def __init__(
        self,
        rule: Any,
        constraint: Constraint,
        *,
        cap: int,
        table: int,
        work: float,
        timeout: float = 60.0,
        limit: float = 300.0,
        memory: int | None = None,
        workers: int = 1,
        chunk: int | None = None,
        cache: int = 200_000,
        tries: int = 0,
        solutions_cap: int = 100_000,
    ) -> None:
        self._check(least=1, cap=cap, workers=workers, solutions_cap=solutions_cap, chunk=chunk, memory=memory)
        self._check(least=0, table=table, cache=cache, tries=tries)
        if workers > MOST_WORKERS:
            raise self._refused("workers", workers, f"expected at most {MOST_WORKERS:,}")
        for name, seconds in (("timeout", timeout), ("limit", limit)):
            if not 0 < seconds < math.inf:
                raise self._refused(name, seconds, "expected seconds, more than 0")
        self.rule, self.constraint, self.space = rule, constraint, rule.space
        self.limits = Limits(table, work, timeout, limit, memory)
        self.cap, self.solutions_cap, self.tries = cap, solutions_cap, tries
        self._solver = Crew(rule, self.limits, workers, chunk, forks=workers > 1)
        self.queries = self.hits = self.capped = 0  # capped: fibres with more completions than ``cap``
        self.begun: dict[int, Tensor] = {}  # indices of states, by answers
        self._ends: Counter[End] = Counter()
        self._suspects: set[Key] = set()  # one of these did not end; each is asked alone next time
        self._cache: OrderedDict[Key, Reply] = OrderedDict()
        self._cache_size = cache

    def _check(self, least: int, **given: Any) -> None:
        for name, number in given.items():
            if number is not None and number < least:
                raise self._refused(name, number, f"expected {least} or more")

    def _refused(self, name: str, given: Any, expected: str) -> InverseError:
        return InverseError.of({name: given}, f" to the {self.solver[0]} inverse; {expected}.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.space!r})"

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        sites = dropped.sites
        kept = z.scatter(-1, sites, 0).tolist()
        keys = [(i, tuple(d), tuple(u)) for i, d, u in zip(y.tolist(), sites.tolist(), kept, strict=True)]
        known = {key: self._cache[key] for key in keys if key in self._cache}
        missing = [key for key in dict.fromkeys(keys) if key not in known]
        self.queries += len(keys)
        self.hits += len(keys) - len(missing)
        queries = [FibreQuery(self.rule.key(i), u, d, self.cap, (i, d, u) in self._suspects) for i, d, u in missing]
        for key, reply in zip(missing, self._solve(queries), strict=True):
            known[key] = reply
            self.capped += reply.end == "capped"
            self._suspects.discard(key)
            if not reply.unknown or reply.retry == "no":
                self._cache[key] = reply
            elif reply.retry == "alone":
                self._suspects.add(key)
        for key in known:
            if key in self._cache:
                self._cache.move_to_end(key)
        while len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)
        replies = [known[key] for key in keys]
        options, padding = max([1, *(len(reply.states) for reply in replies)]), (0,) * dropped.count
        rows = [reply.states + [padding] * (options - len(reply.states)) for reply in replies]
        values = torch.tensor(rows, dtype=torch.long, device=z.device).view(len(rows), options, dropped.count)
        count = torch.tensor([len(reply.states) for reply in replies], device=z.device)
        complete = torch.tensor([reply.end == "whole" for reply in replies], dtype=torch.bool, device=z.device)
        return Fibre(values, torch.arange(options, device=z.device) < count[:, None], complete)

    def start(self, y: Tensor, seed: int) -> Start:
        """A feasible state for each answer, in different places of S_y for different rows and seeds.

        Absence is proved. If the solver gives up or dies, it is retried with other seeds; then a state of another row
        with the same answer is used.
        """
        return self.start_pinned(y, seed, torch.full((len(y), self.space.sites), -1))

    def start_pinned(self, y: Tensor, seed: int, known: Tensor) -> Start:
        """:meth:`start` with known sites fixed; −1 means unknown."""
        generator = torch.Generator().manual_seed(seed)
        seeds = torch.randint(2**62, (len(y),), generator=generator, device="cpu").tolist()
        answers, fixed = y.tolist(), [tuple(row) for row in known.tolist()]
        replies = [self._begun(*row) for row in zip(answers, fixed, seeds, strict=True)]
        for attempt in range(1 + START_RETRIES):
            rows = [row for row, reply in enumerate(replies) if reply.unknown]
            queries = [
                StartQuery(self.rule.key(answers[row]), seeds[row] + attempt, self.tries, fixed[row]) for row in rows
            ]
            for row, reply in zip(rows, self._solve_all("First states", queries), strict=True):
                replies[row] = reply
        alike = list(zip(answers, fixed, strict=True))
        same = {i: reply for i, reply in zip(alike, replies, strict=True) if reply.states}
        replies = [same.get(i, reply) if reply.unknown else reply for i, reply in zip(alike, replies, strict=True)]
        nothing = (0,) * self.space.sites
        z = torch.tensor([reply.states[0] if reply.states else nothing for reply in replies], device=y.device)
        found = torch.tensor([bool(reply.states) for reply in replies], dtype=torch.bool, device=y.device)
        proved = torch.tensor([reply.end == "whole" for reply in replies], dtype=torch.bool, device=y.device)
        return Start(z.long().view(len(y), self.space.sites), found, proved)

    def _begun(self, y: int, fixed: tuple[int, ...], seed: int) -> Reply:
        """A first state from a list that was found before."""
        if max(fixed) >= 0 or y not in self.begun:
            return Reply([], "unknown")
        state = self.space.states(self.begun[y][seed % len(self.begun[y])])
        return Reply([tuple(state.tolist())], "whole")

    def empty(self, y: int, known: Sequence[int]) -> bool | None:
        """Whether the known symbols (−1: unknown) contradict S_y; None if the solver gives up."""
        free = tuple(site for site, code in enumerate(known) if code < 0)
        if not free:
            return not bool(self.constraint.feasible(torch.tensor([known]), torch.tensor([y])))
        codes = tuple(max(0, code) for code in known)
        (reply,) = self._solve([FibreQuery(self.rule.key(y), codes, free, cap=0, listing=True)])
        return None if reply.unknown else reply.end == "whole" and not reply.states

    def law(self, target: Target[Any]) -> Law:
        if self.refused:
            raise NoLaw(
                "S_y can be neither listed nor summed within the budget; task.choice says why. Allow more by "
                "Task(…, budget=Budget(seconds=…, solutions=…)), state the rule as a Scan or by All as smaller parts, "
                "or use a sampling kernel."
            )
        with within(LAW_SECONDS):
            return super().law(target)

    def set(self, y: Tensor) -> Listed:
        """All of S_y for each answer; raise if it has more than ``solutions_cap`` states or the solver gives up."""
        answers = list(dict.fromkeys(y.tolist()))
        index = {}
        for i, (states, end) in zip(answers, self.listed(answers), strict=True):
            if end != "whole":
                over, (name, limits) = end == "capped", self.solver
                why = f"there are more than solutions_cap={self.solutions_cap:,}" if over else f"{name} gave up"
                raise NoLaw(
                    f"Not all states of the answer {self.rule.key(i)!r} could be listed: {why}. Use a sampling kernel, "
                    f"or raise {'solutions_cap' if over else limits}."
                )
            index[i] = self.space.index(states)
        return listed([index[i] for i in y.tolist()], self.space, y.device)

    def listed(self, answers: Sequence[int]) -> list[tuple[Tensor, End]]:
        """Of each answer (an id), states of S_y ``[count, sites]`` in lexicographic order and whether they are all:
        ``"whole"``; or up to ``solutions_cap`` of more (``"capped"``), or what else the solver came to."""
        sizes = self.space.sizes
        # Tables complete the last sites, one table for each combination of the first; or one query completes all.
        cut = next((i for i in range(len(sizes)) if math.prod(sizes[i:]) <= self.limits.table), 0)
        cut = cut if math.prod(sizes[:cut]) <= MOST_TABLES else 0
        dropped, zeros = tuple(range(cut, len(sizes))), (0,) * (len(sizes) - cut)
        pairs = list(itertools.product(answers, itertools.product(*map(range, sizes[:cut]))))
        queries = [
            FibreQuery(self.rule.key(i), prefix + zeros, dropped, self.solutions_cap, listing=True)
            for i, prefix in pairs
        ]
        replies = self._solve_all("Lists of solutions", queries)
        states: dict[int, list[tuple[int, ...]]] = {i: [] for i in answers}
        ends: dict[int, End] = dict.fromkeys(answers, "whole")
        for (i, prefix), reply in zip(pairs, replies, strict=True):
            states[i] += [prefix + state for state in reply.states]
            if ends[i] == "whole":
                ends[i] = "capped" if len(states[i]) > self.solutions_cap else reply.end
        return [
            (torch.tensor(states[i][: self.solutions_cap], dtype=torch.long).view(-1, self.space.sites), ends[i])
            for i in answers
        ]

    def lister(self, most: int, seconds: float, workers: int) -> Self:
        """The same, to list at most ``most`` states of each S_y in ``seconds`` each."""
        limit = 2 * min(max(1.0, seconds), 1e6)
        return type(self)(self.rule, limit=limit, workers=workers, solutions_cap=most, **self.for_lists)

    def some_solutions(self, y: Tensor) -> list[tuple[Tensor, bool]]:
        return [(self.space.index(states), end == "whole") for states, end in self.listed(y.tolist())]

    @property
    def faults(self) -> dict[str, int]:
        """Counts of queries without a result, and of timeouts, memory limits and crashes among them."""
        unknowns = self._ends.total() - self._ends["whole"] - self._ends["capped"]
        return {"unknowns": unknowns} | {name: self._ends[end] for end, name in FAULTS.items()}

    def _solve_all(self, what: str, queries: Sequence[Query]) -> list[Reply]:
        """Solve the many queries of a preparation in portions, and report progress."""
        each = QUERIES_PER_WORKER if time_left() == math.inf else 1
        together = each * (backend.workers() or self._solver.size)
        replies: list[Reply] = []
        with preparing(what, len(queries)) as done:
            for first in range(0, len(queries), together or 1):
                if time_left() <= 0:
                    break
                replies += self._solve(queries[first : first + together])
                done(len(replies))
        return replies + [Reply([], "timeout")] * (len(queries) - len(replies))

    def _solve(self, queries: Sequence[Query]) -> list[Reply]:
        begin = time.perf_counter()
        try:
            workers = backend.workers() if queries else None
            replies = self._solver.solve(queries) if workers is None else backend.solve(self._solver, queries, workers)
        finally:
            self.solver_seconds += time.perf_counter() - begin
        self._ends.update(reply.end for reply in replies)
        return replies


pinned.register(Solved, Solved.start_pinned)
