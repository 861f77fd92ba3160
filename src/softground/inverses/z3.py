"""The inverse by Z3: fibres of any rule that can be written as a formula, in this process or in many.

Fibres are remembered across steps, because chains come back to where they have been; what remains is solved by
:mod:`~softground.inverses.z3_worker`, which also says why the outcome does not depend on the solver's mood.
"""

from __future__ import annotations

import importlib
import itertools
import math
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import torch
from torch import Tensor

from ..constraints.smt import SMT, load_z3
from ..errors import InverseError
from .base import Fibre, Solutions, Start
from .default import default_inverse
from .z3_worker import Limits, Outcome, Query, Search, work

# S_y is listed by tables over the last sites, one per combination of the first ones, up to this many tables.
MOST_TABLES = 4096
PARTS = 4  # a worker gets its share of the queries in this many parts
Key = tuple[int, tuple[int, ...], tuple[int, ...]]


class Z3:
    """Fibres, starts and solutions through the Z3 solver.

    Parameters
    ----------
    smt
        The rule.
    cap
        Most completions per fibre; a fibre with more is cut, which takes long without a table, and is incomplete.
    table
        Up to this many combinations of the dropped sites, one simplification evaluates the formula on all of
        them, which is several times faster than search; 0 always searches.
    rlimit, timeout
        Per check, Z3's deterministic measure of work (2 million are about a second) and, as a second belt, seconds.
        Past either the answer is 'unknown', and so the fibre incomplete.
    workers
        Processes; 1 solves in this one.
    chunk
        Queries a worker gets at a time. By default a call's queries are cut into four parts per worker: each part costs
        about a millisecond to send, and a worker that got easy ones goes on with another.
    backend
        The joblib backend that runs the workers. Not ``"threading"``: Z3 is not safe to share between threads.
    cache
        Fibres remembered, the most recently used.
    tries
        Random proposals that :meth:`start` completes by a table before it searches.
    solutions_cap
        Most states of S_y that :meth:`solutions` lists per answer.

    Attributes
    ----------
    queries, hits
        Fibres asked for, and those answered from memory.
    unknowns, capped, crashes
        Queries on which Z3 gave up, those with more completions than ``cap``, and those that killed a worker
        (counted as unknown too).
    solver_seconds
        Wall-clock time spent on solving.

    Notes
    -----
    A complete fibre is a set, the same whichever process found it. A capped one holds the lexicographically first
    completions, an unknown one none. So nothing depends on Z3's choice of models, the number of workers or the order
    of queries; only whether a check reaches a limit may. An unknown fibre is not remembered, except where it killed a
    worker.
    """

    def __init__(
        self,
        smt: SMT,
        *,
        cap: int = 64,
        table: int = 4096,
        rlimit: int = 20_000_000,
        timeout: float = 60.0,
        workers: int = 1,
        chunk: int | None = None,
        backend: str = "loky",
        cache: int = 200_000,
        tries: int = 32,
        solutions_cap: int = 100_000,
    ) -> None:
        load_z3()
        positive = {"cap": cap, "rlimit": rlimit, "workers": workers, "solutions_cap": solutions_cap}
        positive |= {} if chunk is None else {"chunk": chunk}
        for name, given in {**positive, "table": table, "cache": cache, "tries": tries}.items():
            least = 1 if name in positive else 0
            if given < least:
                raise InverseError(f"{name}={given} was given to the Z3 inverse; expected {least} or more.")
        if not timeout > 0:
            raise InverseError(f"timeout={timeout} was given to the Z3 inverse; expected seconds, more than 0.")
        if backend == "threading":
            raise InverseError("backend='threading' was given; Z3 is not safe between threads. Use 'loky'.")
        self.smt, self.space = smt, smt.space
        self.cap, self.solutions_cap, self.tries = cap, solutions_cap, tries
        self.workers, self.chunk, self.backend = workers, chunk, backend
        self.limits = Limits(table, rlimit, timeout)
        self.solver_seconds = 0.0
        self.queries = self.hits = self.unknowns = self.capped = self.crashes = 0
        self._cache: OrderedDict[Key, Outcome] = OrderedDict()
        self._cache_size = cache

    def fibre(self, z: Tensor, y: Tensor, dropped: Tensor) -> Fibre:
        kept = z.scatter(-1, dropped, 0).tolist()
        keys = [(i, tuple(d), tuple(u)) for i, d, u in zip(y.tolist(), dropped.tolist(), kept, strict=True)]
        known = {key: self._cache[key] for key in keys if key in self._cache}
        missing = [key for key in dict.fromkeys(keys) if key not in known]
        self.queries += len(keys)
        self.hits += len(keys) - len(missing)
        jobs = [Query(self.smt.key(i), codes, sites, self.cap) for i, sites, codes in missing]
        for key, outcome in zip(missing, self._solve(jobs), strict=True):
            known[key] = outcome
            self.capped += outcome.end == "capped"
            self.unknowns += outcome.end in ("unknown", "crashed")
            if outcome.end != "unknown":
                self._cache[key] = outcome
        for key in known:
            if key in self._cache:
                self._cache.move_to_end(key)
        while len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)
        return self._pack([known[key] for key in keys], dropped)

    def start(self, y: Tensor, seed: int) -> Start:
        """A feasible state for each answer, in different places of S_y for different rows and seeds.

        Most sites are drawn at random and the others completed by a table, up to ``tries`` times. Where that fails,
        sites are decided one after the other, each by the first code from a random one on that Z3 calls
        satisfiable, so that it is known for sure where there is no state. Nothing depends on Z3's choice of models.
        """
        generator = torch.Generator().manual_seed(seed)
        seeds = torch.randint(2**62, (len(y),), generator=generator).tolist()
        jobs = [Search(self.smt.key(i), s, self.tries) for i, s in zip(y.tolist(), seeds, strict=True)]
        outcomes = self._solve(jobs)
        self.unknowns += sum(outcome.end in ("unknown", "crashed") for outcome in outcomes)
        nothing = (0,) * self.space.sites
        z = torch.tensor([outcome.states[0] if outcome.states else nothing for outcome in outcomes], dtype=torch.long)
        found = torch.tensor([bool(outcome.states) for outcome in outcomes], dtype=torch.bool)
        proved = torch.tensor([outcome.end == "whole" for outcome in outcomes], dtype=torch.bool)
        return Start(z.view(len(y), self.space.sites).to(y.device), found.to(y.device), proved.to(y.device))

    def solutions(self, y: Tensor) -> Solutions:
        """All of S_y for each answer; raises where there are more than ``solutions_cap`` or Z3 gives up."""
        answers = list(dict.fromkeys(y.tolist()))
        kept, dropped = self._split()
        prefixes = list(itertools.product(*(range(self.space.sizes[site]) for site in kept)))
        zeros = (0,) * len(dropped)
        jobs = [Query(self.smt.key(i), prefix + zeros, dropped, self.solutions_cap)
                for i in answers for prefix in prefixes]  # fmt: skip
        outcomes = self._solve(jobs)
        states: dict[int, list[tuple[int, ...]]] = {i: [] for i in answers}
        for (i, prefix), outcome in zip(itertools.product(answers, prefixes), outcomes, strict=True):
            states[i] += [prefix + state for state in outcome.states]
            if outcome.end != "whole" or len(states[i]) > self.solutions_cap:
                over = outcome.end in ("whole", "capped")
                why = f"there are more than solutions_cap={self.solutions_cap:,}" if over else "Z3 gave up"
                raise InverseError(
                    f"Not all states of the answer {self.smt.key(i)!r} could be listed: {why}. Use a sampling kernel, "
                    f"or raise {'solutions_cap' if over else 'rlimit and timeout'}."
                )
        index = {i: self.space.index(torch.tensor(s).view(-1, self.space.sites)) for i, s in states.items()}
        rows = [index[i] for i in y.tolist()]
        count = torch.tensor([len(row) for row in rows], dtype=torch.long)
        owner = torch.arange(len(rows)).repeat_interleave(count)
        offsets = torch.nn.functional.pad(count.cumsum(0), (1, 0))
        flat = torch.cat(rows) if rows else torch.zeros(0, dtype=torch.long)
        return Solutions(flat.to(y.device), owner.to(y.device), offsets.to(y.device))

    def _split(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The sites to enumerate and those a table then completes; none and all where that would be too many tables."""
        sizes = self.space.sizes
        cut = len(sizes)
        while cut > 0 and math.prod(sizes[cut - 1 :]) <= self.limits.table:
            cut -= 1
        if cut == len(sizes) or math.prod(sizes[:cut]) > MOST_TABLES:
            cut = 0
        return tuple(range(cut)), tuple(range(cut, len(sizes)))

    def _pack(self, outcomes: list[Outcome], dropped: Tensor) -> Fibre:
        options = max([1, *(len(outcome.states) for outcome in outcomes)])
        padding = (0,) * dropped.shape[1]
        rows = [outcome.states + [padding] * (options - len(outcome.states)) for outcome in outcomes]
        values = torch.tensor(rows, dtype=torch.long).view(len(rows), options, dropped.shape[1])
        count = torch.tensor([len(outcome.states) for outcome in outcomes], dtype=torch.long)
        complete = torch.tensor([outcome.end == "whole" for outcome in outcomes], dtype=torch.bool)
        mask = torch.arange(options) < count[:, None]
        return Fibre(values.to(dropped.device), mask.to(dropped.device), complete.to(dropped.device))

    def _solve(self, jobs: Sequence[Query | Search]) -> list[Outcome]:
        begin = time.perf_counter()
        try:
            if self.workers == 1 or not jobs:
                return work(self.smt, self.limits, jobs) if jobs else []
            size = self.chunk or math.ceil(len(jobs) / (PARTS * self.workers))
            return self._scatter([jobs[i : i + size] for i in range(0, len(jobs), size)])
        finally:
            self.solver_seconds += time.perf_counter() - begin

    def _scatter(self, chunks: Sequence[Sequence[Query | Search]]) -> list[Outcome]:
        """Solve in worker processes. Where one dies, its chunk is halved until the guilty query is alone."""
        joblib: Any = importlib.import_module("joblib")
        pool = joblib.Parallel(
            n_jobs=self.workers, backend=self.backend, batch_size=1, pre_dispatch="all", max_nbytes=None
        )
        try:
            done = pool(joblib.delayed(work)(self.smt, self.limits, list(chunk)) for chunk in chunks)
        except BrokenProcessPool:
            if len(chunks) > 1:
                return [outcome for chunk in chunks for outcome in self._scatter([chunk])]
            (chunk,) = chunks
            if len(chunk) == 1:
                self.crashes += 1
                return [Outcome([], "crashed")]
            middle = len(chunk) // 2
            return self._scatter([chunk[:middle]]) + self._scatter([chunk[middle:]])
        return [outcome for chunk in done for outcome in chunk]


@default_inverse.register
def _(constraint: SMT, space: object) -> Z3:
    return Z3(constraint)
