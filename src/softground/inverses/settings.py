"""One record of settings and limits for all inverses by a solver."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What all inverses by a solver can be told, and its limits.

    Parameters
    ----------
    cap
        Most completions per fibre that is searched; one with more is cut and incomplete.
    table
        Most combinations of the dropped sites for which all are evaluated instead of searching; 0 always searches.
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
        Fibres remembered, the most recently used. ``queries`` counts fibres asked for, ``hits`` those remembered.
    tries
        Random proposals that a table completes before a first state is searched for.
    solutions_cap
        Most states of S_y that are listed per answer.
    """

    cap: int
    table: int
    work: float
    timeout: float = 60.0
    limit: float = 300.0
    memory: int | None = None
    workers: int = 1
    chunk: int | None = None
    cache: int = 200_000
    tries: int = 0
    solutions_cap: int = 100_000
