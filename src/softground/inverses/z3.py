"""The inverse by Z3: fibres of any rule that can be written as a formula, solved in this process or in many.

Fibres are remembered across steps, because chains come back to where they have been. The others are solved by
:mod:`~softground.solver.engine`, which also says why replies do not depend on which models Z3 happens to find.
"""

import itertools
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Sequence

import torch
from torch import Tensor

from ..constraints.smt import SMT, load_z3
from ..errors import InverseError
from ..preparing import preparing
from ..projections.base import Dropped
from ..solver.cluster import Cluster
from ..solver.crew import Crew
from ..solver.queries import FAULTS, End, FibreQuery, Limits, Query, Reply, StartQuery
from .base import INVERSES, Fibre, Inverse, Start
from .enumeration import default_inverse
from .law import Solutions

MOST_TABLES = 4096  # to list S_y
MOST_WORKERS = 4096
BACKENDS = ("local", "dask", "ray")
QUERIES_PER_WORKER = 64  # before it is told how far a preparation is
START_RETRIES = 3  # from other places, where the solver gave up or died
Key = tuple[int, tuple[int, ...], tuple[int, ...]]


class Z3(Inverse):
    """Fibres, starts and solutions through the Z3 solver.

    Parameters
    ----------
    cap
        Most completions per fibre; one with more is cut and incomplete.
    table
        Most combinations of the dropped sites for which one simplification evaluates the formula on all of them,
        several times faster than search; 0 always searches.
    rlimit, timeout
        Per check, Z3's deterministic measure of work (2 million are about a second), and seconds. Beyond either the
        reply is 'unknown' and the fibre incomplete.
    limit, memory
        Seconds and MiB (None sets no limit) per query. A query gives up after half of the seconds; with several
        workers, a process that does not is killed.
    workers, chunk
        Processes; 1 solves in this one, where nothing can be killed. And the queries that a worker gets at a time; None
        cuts each call's into four chunks per worker.
    backend, scheduler
        ``"local"`` forks the workers from this process. ``"dask"`` and ``"ray"`` use all workers of the cluster with
        that address (see :mod:`~softground.solver.cluster`); ``workers`` processes here replace those that are lost.
    cache
        Fibres remembered, the most recently used. ``queries`` counts fibres asked for, ``hits`` those remembered.
    tries
        Random proposals that :meth:`start` completes by a table before it searches.
    solutions_cap
        Most states of S_y that :meth:`solutions` lists per answer.

    Notes
    -----
    A complete fibre is the same set whichever process found it. A capped one holds the lexicographically first
    completions, an unknown one none. So nothing depends on Z3's choice of models, the number of workers or the order of
    queries; only whether a check reaches a limit may. An unknown fibre is asked again when it is next needed, unless
    its process died or had to be killed.
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
        backend: str = "local",
        scheduler: str | None = None,
        cache: int = 200_000,
        tries: int = 32,
        solutions_cap: int = 100_000,
    ) -> None:
        load_z3()
        positive = {"cap": cap, "rlimit": rlimit, "workers": workers, "solutions_cap": solutions_cap}
        positive |= {"chunk": 1 if chunk is None else chunk, "memory": 1 if memory is None else memory}
        for name, given in {**positive, "table": table, "cache": cache, "tries": tries}.items():
            if given < (least := int(name in positive)):
                raise InverseError(f"{name}={given} was given to the Z3 inverse; expected {least} or more.")
        if workers > MOST_WORKERS:
            raise InverseError(f"workers={workers:,} was given to the Z3 inverse; expected at most {MOST_WORKERS:,}.")
        for name, seconds in (("timeout", timeout), ("limit", limit)):
            if not 0 < seconds < math.inf:
                raise InverseError(f"{name}={seconds} was given to the Z3 inverse; expected seconds, more than 0.")
        if backend not in BACKENDS:
            raise InverseError(f"backend={backend!r} was given to the Z3 inverse; expected {', '.join(BACKENDS)}.")
        if scheduler is not None and backend == "local":
            raise InverseError(f"scheduler={scheduler!r} was given to the Z3 inverse; only dask and ray have one.")
        self.smt, self.space = smt, smt.space
        self.constraint = smt.shared or smt  # another statement of the rule is there because it is faster
        self.cap, self.solutions_cap, self.tries = cap, solutions_cap, tries
        self.limits = Limits(table, rlimit, timeout, limit, memory)
        crew = Crew(smt, self.limits, workers, chunk, forks=workers > 1 or backend != "local")
        self._solver = crew if backend == "local" else Cluster(crew, backend, scheduler)
        self.solver_seconds = 0.0
        self.queries = self.hits = self.capped = 0  # capped: fibres with more completions than ``cap``
        self._ends: Counter[End] = Counter()
        self._suspects: set[Key] = set()  # one of these did not end; each is asked alone next time
        self._cache: OrderedDict[Key, Reply] = OrderedDict()
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
        queries = [FibreQuery(self.smt.key(key[0]), key[2], key[1], self.cap, key in self._suspects) for key in missing]
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

        Most sites are drawn at random and the others completed by a table, up to ``tries`` times. Where that fails,
        sites are decided one after the other: each gets the first code, counted from a random one, that Z3 calls
        satisfiable. So it is known for sure where there is no state. Where Z3 gives up or dies, it is asked again from
        other places; then a state of another row with the same answer is used.
        """
        return self.pinned(y, seed, torch.full((len(y), self.space.sites), -1))

    def pinned(self, y: Tensor, seed: int, known: Tensor) -> Start:
        """:meth:`start` with known sites fixed, which are −1 where they are unknown."""
        generator = torch.Generator().manual_seed(seed)
        seeds = torch.randint(2**62, (len(y),), generator=generator, device="cpu").tolist()
        answers, fixed = y.tolist(), [tuple(row) for row in known.tolist()]
        replies = [Reply([], "unknown")] * len(answers)
        for attempt in range(1 + START_RETRIES):
            rows = [row for row, reply in enumerate(replies) if reply.unknown]
            queries = [
                StartQuery(self.smt.key(answers[row]), seeds[row] + attempt, self.tries, fixed[row]) for row in rows
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

    def solutions(self, y: Tensor) -> Solutions:
        """All of S_y for each answer; raises where there are more than ``solutions_cap`` or Z3 gives up."""
        answers = torch.unique(y)
        found = dict(zip(answers.tolist(), self.some_solutions(answers, self.solutions_cap), strict=True))
        for i, (index, whole) in found.items():
            if not whole:
                over = f"there are more than solutions_cap={self.solutions_cap:,}; raise it"
                why = over if len(index) == self.solutions_cap else "Z3 gave up; raise rlimit and timeout"
                raise InverseError(
                    f"Not all states of the answer {self.smt.key(i)!r} could be listed: {why}, or sample."
                )
        return Solutions.of([found[i][0] for i in y.tolist()], y.device)

    def some_solutions(self, y: Tensor, most: int) -> list[tuple[Tensor, bool]]:
        # Tables complete the last sites, one table for each combination of the first; or one query completes all.
        sizes = self.space.sizes
        cut = next((i for i in range(len(sizes)) if math.prod(sizes[i:]) <= self.limits.table), 0)
        cut = cut if math.prod(sizes[:cut]) <= MOST_TABLES else 0
        dropped, zeros = tuple(range(cut, len(sizes))), (0,) * (len(sizes) - cut)
        pairs = list(itertools.product(y.tolist(), itertools.product(*map(range, sizes[:cut]))))
        queries = [FibreQuery(self.smt.key(i), prefix + zeros, dropped, most) for i, prefix in pairs]
        found: dict[int, tuple[list[tuple[int, ...]], bool]] = {i: ([], True) for i in y.tolist()}
        for (i, prefix), reply in zip(pairs, self._solve_all("Lists of solutions", queries), strict=True):
            states, whole = found[i]
            states += [prefix + state for state in reply.states]
            found[i] = states[:most], whole and reply.end == "whole" and len(states) <= most
        codes = [torch.tensor(found[i][0], dtype=torch.long).view(-1, len(sizes)) for i in y.tolist()]
        return [(self.space.index(z), found[i][1]) for z, i in zip(codes, y.tolist(), strict=True)]

    def lister(self, seconds: float, workers: int) -> Inverse:
        return Z3(self.smt, limit=2 * max(1.0, min(seconds, 1e6)), workers=workers)

    @property
    def faults(self) -> dict[str, int]:
        """Queries that brought nothing; those of them whose time or memory was up or whose process died; and how often
        a cluster's workers were lost, whose queries others then solved."""
        unknowns = self._ends.total() - self._ends["whole"] - self._ends["capped"]
        faults = {name: self._ends[end] for end, name in FAULTS.items()}
        return {"unknowns": unknowns, **faults, "losses": self._solver.losses}

    def _solve_all(self, what: str, queries: Sequence[Query]) -> list[Reply]:
        """Replies to the many queries of a preparation, some at a time, telling how far it is."""
        together = QUERIES_PER_WORKER * self._solver.size if isinstance(self._solver, Crew) else len(queries)
        replies: list[Reply] = []
        with preparing(what, len(queries)) as done:
            for first in range(0, len(queries), together or 1):
                replies += self._solve(queries[first : first + together])
                done(len(replies))
        return replies

    def _solve(self, queries: Sequence[Query]) -> list[Reply]:
        begin = time.perf_counter()
        try:
            replies = self._solver.solve(queries)
        finally:
            self.solver_seconds += time.perf_counter() - begin
        self._ends.update(reply.end for reply in replies)
        return replies


@default_inverse.register
def _(constraint: SMT, space: object) -> Z3:
    return Z3(constraint)


INVERSES["z3"] = Z3
