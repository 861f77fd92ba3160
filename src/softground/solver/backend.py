"""Solve queries on other machines while ``joblib.parallel_config`` names a backend for them: Dask, Ray or Spark.

joblib's own backends use this machine alone. There the crew solves, since it can kill a query that hangs. Each worker
of another backend has a crew of its own. Replies do not depend on who found them.
"""

import itertools
import math
import sys
import threading
from collections.abc import Sequence
from typing import Any

from .crew import CHUNKS_PER_PROCESS, Crew
from .engine import Limits, Query, Reply

LOCAL = ("loky", "multiprocessing", "sequential", "threading")
CREWS_KEPT = 8  # in a worker: rules whose solvers stay warm


def workers() -> int | None:
    """The number of workers of the active backend; None where queries stay on this machine."""
    joblib: Any = sys.modules.get("joblib.parallel")
    if joblib is None:  # nothing has imported it, so no backend is active
        return None
    backend, jobs = joblib.get_active_backend()
    if type(backend) in map(joblib.BACKENDS.get, LOCAL):
        return None
    return int(backend.effective_n_jobs(-1 if jobs is None else jobs))


def solve(crew: Crew, queries: Sequence[Query], workers: int) -> list[Reply]:
    """Return a reply to each query, with the crew's rule, limits and chunks."""
    from joblib import Parallel, delayed

    chunk = crew.chunk or math.ceil(len(queries) / (CHUNKS_PER_PROCESS * workers))
    chunks = [queries[i : i + chunk] for i in range(0, len(queries), chunk)]
    parallel = Parallel(workers, batch_size=1, pre_dispatch="all", max_nbytes=None)
    return list(itertools.chain(*parallel(delayed(answer)(crew.rule, crew.limits, each) for each in chunks)))


_crews: dict[tuple[str, Limits, int], Crew] = {}


def answer(rule: Any, limits: Limits, queries: Sequence[Query]) -> list[Reply]:
    """Solve a chunk in a process of this worker's own."""
    key = (rule.token, limits, threading.get_ident())  # a worker may have several threads: one process for each
    crew = _crews.pop(key) if key in _crews else Crew(rule, limits)
    _crews[key] = crew  # at the end: the least recently used is first
    while len(_crews) > CREWS_KEPT:
        del _crews[next(iter(_crews))]
    return crew.solve(queries)
