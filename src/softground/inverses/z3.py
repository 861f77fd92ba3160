"""The inverse by Z3: fibres of any rule that can be written as a formula, in this process or in many.

Fibres are remembered across steps, because chains come back to where they have been; what remains is solved by
:mod:`~softground.solver.engine`, which also says why the outcome does not depend on the solver's mood.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Sequence

import torch
from torch import Tensor

from ..constraints.smt import SMT, load_z3
from ..errors import InverseError
from ..projections.base import Dropped
from ..solver.pool import Pool
from ..solver.queries import FAULTS, Job, Limits, Outcome, Query, Search
from .base import Fibre, Inverse, Start
from .default import default_inverse
from .law import Solutions

# S_y is listed by tables over the last sites, one per combination of the first ones, up to this many tables.
MOST_TABLES = 4096
MOST_WORKERS = 4096
AGAIN = 3  # times that a start is tried anew, from another place, where the solver gave up or was lost
Key = tuple[int, tuple[int, ...], tuple[int, ...]]


class Z3(Inverse):
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
    limit
        Seconds. A query gives up after half of it; in a worker, one that does not is ended by force when a worker has
        been at its queries for so long, and a worker that has not answered soon after it is given up.
    memory
        MiB that a query may take; None sets no limit.
    workers
        Processes; 1 solves in this one, where nothing can be ended by force.
    chunk
        Queries a worker gets at a time. By default a call's queries are cut into four parts per worker: each part costs
        about a millisecond to send, and a worker that got easy ones goes on with another.
    backend, scheduler
        The joblib backend that runs the workers, and the address of a cluster (see :mod:`~softground.solver.pool`).
        Not ``"threading"``: Z3 is not safe to share between threads.
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
    unknowns, capped
        Queries that brought nothing, and those with more completions than ``cap``.
    timeouts, memouts, crashes, losses
        Unknowns whose time was up, whose memory was up and that killed their process; and how often workers were lost,
        whose queries others then solved.
    solver_seconds
        Wall-clock time spent on solving.

    Notes
    -----
    A complete fibre is a set, the same whichever process found it. A capped one holds the lexicographically first
    completions, an unknown one none. So nothing depends on Z3's choice of models, the number of workers or the order
    of queries; only whether a check reaches a limit may. An unknown fibre is not remembered, except where it killed its
    process or had to be killed.
    """

    cost = "solver"

    def __init__(
        self,
        smt: SMT,
        *,
        cap: int = 64,
        table: int = 4096,
        rlimit: int = 20_000_000,
        timeout: float = 60.0,
        limit: float = 300.0,
        memory: int | None = None,
        workers: int = 1,
        chunk: int | None = None,
        backend: str = "loky",
        scheduler: str | None = None,
        cache: int = 200_000,
        tries: int = 32,
        solutions_cap: int = 100_000,
    ) -> None:
        load_z3()
        positive = {"cap": cap, "rlimit": rlimit, "workers": workers, "solutions_cap": solutions_cap}
        positive |= {name: given for name, given in (("chunk", chunk), ("memory", memory)) if given is not None}
        for name, given in {**positive, "table": table, "cache": cache, "tries": tries}.items():
            least = 1 if name in positive else 0
            if given < least:
                raise InverseError(f"{name}={given} was given to the Z3 inverse; expected {least} or more.")
        if workers > MOST_WORKERS:
            raise InverseError(f"workers={workers:,} was given to the Z3 inverse; expected at most {MOST_WORKERS:,}.")
        for name, seconds in (("timeout", timeout), ("limit", limit)):
            if not 0 < seconds < math.inf:
                raise InverseError(f"{name}={seconds} was given to the Z3 inverse; expected seconds, more than 0.")
        self.smt, self.space = smt, smt.space
        self.constraint = smt.shared or smt  # another statement of the rule is there because it is faster
        self.cap, self.solutions_cap, self.tries = cap, solutions_cap, tries
        self.limits = Limits(table, rlimit, timeout, limit, memory)
        self._pool = Pool(smt, self.limits, workers, chunk, backend, scheduler)
        self.solver_seconds = 0.0
        self.queries = self.hits = self.unknowns = self.capped = 0
        self.timeouts = self.memouts = self.crashes = 0
        self._suspects: set[Key] = set()  # among these is one that did not end; each is asked alone next time
        self._cache: OrderedDict[Key, Outcome] = OrderedDict()
        self._cache_size = cache

    def __repr__(self) -> str:
        return f"Z3({self.space!r})"

    def fibre(self, z: Tensor, y: Tensor, dropped: Dropped) -> Fibre:
        sites = dropped.sites
        kept = z.scatter(-1, sites, 0).tolist()
        keys = [(i, tuple(d), tuple(u)) for i, d, u in zip(y.tolist(), sites.tolist(), kept, strict=True)]
        known = {key: self._cache[key] for key in keys if key in self._cache}
        missing = [key for key in dict.fromkeys(keys) if key not in known]
        self.queries += len(keys)
        self.hits += len(keys) - len(missing)
        jobs = [Query(self.smt.key(key[0]), key[2], key[1], self.cap, key in self._suspects) for key in missing]
        for key, outcome in zip(missing, self._solve(jobs), strict=True):
            known[key] = outcome
            self.capped += outcome.end == "capped"
            self._suspects.discard(key)
            if not outcome.unknown or outcome.forced:
                self._cache[key] = outcome
            elif not outcome.alone:
                self._suspects.add(key)
        for key in known:
            if key in self._cache:
                self._cache.move_to_end(key)
        while len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)
        return self._pack([known[key] for key in keys], sites)

    def start(self, y: Tensor, seed: int) -> Start:
        """A feasible state for each answer, in different places of S_y for different rows and seeds.

        Most sites are drawn at random and the others completed by a table, up to ``tries`` times. Where that fails,
        sites are decided one after the other, each by the first code from a random one on that Z3 calls
        satisfiable, so that it is known for sure where there is no state. Nothing depends on Z3's choice of models.
        Where Z3 gives up or is lost, it is tried again from other places; then a state of the same answer will do.
        """
        generator = torch.Generator().manual_seed(seed)
        seeds = torch.randint(2**62, (len(y),), generator=generator).tolist()
        answers = y.tolist()
        outcomes = [Outcome([], "unknown")] * len(answers)
        for again in range(1 + AGAIN):
            rows = [row for row, outcome in enumerate(outcomes) if outcome.unknown]
            jobs = [Search(self.smt.key(answers[row]), seeds[row] + again, self.tries) for row in rows]
            for row, outcome in zip(rows, self._solve(jobs), strict=True):
                outcomes[row] = outcome
        same = {i: outcome for i, outcome in zip(answers, outcomes, strict=True) if outcome.states}
        outcomes = [same.get(i, o) if o.unknown else o for i, o in zip(answers, outcomes, strict=True)]
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
        jobs = [
            Query(self.smt.key(i), prefix + zeros, dropped, self.solutions_cap) for i in answers for prefix in prefixes
        ]
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
        return Solutions.of([index[i] for i in y.tolist()], y.device)

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

    @property
    def losses(self) -> int:
        """How often workers were lost."""
        return self._pool.losses

    @property
    def faults(self) -> dict[str, int]:
        """All that went wrong so far, by name, for a run's records."""
        names = ("unknowns", *FAULTS.values(), "losses")
        return {name: getattr(self, name) for name in names}

    def _solve(self, jobs: Sequence[Job]) -> list[Outcome]:
        begin = time.perf_counter()
        try:
            outcomes = self._pool.solve(jobs)
        finally:
            self.solver_seconds += time.perf_counter() - begin
        self.unknowns += sum(outcome.unknown for outcome in outcomes)
        for end, count in Counter(outcome.end for outcome in outcomes).items():
            if end in FAULTS:
                setattr(self, FAULTS[end], getattr(self, FAULTS[end]) + count)
        return outcomes


@default_inverse.register
def _(constraint: SMT, space: object) -> Z3:
    return Z3(constraint)
