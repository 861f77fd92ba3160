"""Sending queries out: through a joblib backend to workers here or on other machines, each with a cell of its own.

A worker answers within the limit, with what it has done by then; the rest is sent again. So silence beyond the limit
means that the worker itself is lost (stopped, its machine gone), and joblib says when one was killed. What lost workers
had is then solved in cells of this process, which are there at once. Outcomes do not depend on who found them, so a
run that loses workers ends with the same bits.
"""

from __future__ import annotations

import importlib
import math
import multiprocessing
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from typing import Any

from ..constraints.smt import SMT
from ..errors import InverseError, SoftgroundError
from .cells import Crew, can_fork
from .cluster import connect, cores
from .engine import ENGINES, work
from .queries import Job, Limits, Outcome

PARTS = 4  # a worker gets its share of the queries in this many parts
GRACE = 0.5  # seconds beyond the limit for an answer to arrive
START = 120.0  # seconds for workers to start: they import torch
STRIKES = 3  # losses after which a cluster is left alone
CLUSTERS = ("dask", "ray")
LOST = (BrokenExecutor, CancelledError, TimeoutError, multiprocessing.TimeoutError, OSError, EOFError)


class Pool:
    """Solves queries in worker processes.

    Parameters
    ----------
    smt, limits
        The rule, and the limits of its queries.
    workers
        Processes; a cluster takes all that it has.
    chunk
        Queries a worker gets at a time; None cuts each call's into four parts per worker.
    backend
        ``"loky"``, ``"dask"``, ``"ray"`` or another of joblib's; ``"multiprocessing"`` forks from this process.
    scheduler
        The cluster's address.

    Attributes
    ----------
    losses
        How often workers were lost.
    """

    def __init__(
        self, smt: SMT, limits: Limits, workers: int, chunk: int | None, backend: str, scheduler: str | None = None
    ) -> None:
        if backend == "threading":
            raise InverseError("backend='threading' was given; Z3 is not safe between threads. Use 'loky'.")
        if scheduler is not None and backend not in CLUSTERS:
            raise InverseError(
                f"scheduler={scheduler!r} was given with backend={backend!r}; only {' and '.join(CLUSTERS)} have one."
            )
        self.smt, self.limits, self.workers, self.chunk = smt, limits, workers, chunk
        self.backend, self.scheduler = backend, scheduler
        self.losses = 0
        self._here = Crew(smt, limits, workers)
        self._settings: dict[str, Any] | None = None  # of joblib's backend, once it is ready
        self._ray: Any = (
            None  # Ray's backend knows no generators, and starts new workers for each call unless it is kept
        )
        self._strikes = 0 if backend == "multiprocessing" else STRIKES if backend in CLUSTERS else 1

    def solve(self, jobs: Sequence[Job]) -> list[Outcome]:
        """An outcome for each job, whatever becomes of the workers."""
        if not jobs or (self.workers == 1 and self.backend not in CLUSTERS):
            return work(self.smt, self.limits, jobs) if jobs else []
        found: dict[int, Outcome] = {}
        left = list(range(len(jobs)))
        while left and self.losses < self._strikes:
            try:
                for places, outcomes in self._send(jobs, left):
                    found.update({p: o for p, o in zip(places, outcomes, strict=True) if o is not None})
            except Exception as error:
                if not _lost(error):
                    raise
                self.losses += 1
                break
            finally:
                left = [place for place in left if place not in found]
        if left:
            found.update(zip(left, self._solve_here([jobs[place] for place in left]), strict=True))
        return [found[place] for place in range(len(jobs))]

    def _solve_here(self, jobs: Sequence[Job]) -> list[Outcome]:
        if not can_fork():
            return work(self.smt, self.limits, jobs)
        return self._here.solve(jobs, self._size(len(jobs), self.workers))

    def _size(self, jobs: int, workers: int) -> int:
        return self.chunk or math.ceil(jobs / (PARTS * workers))

    def _send(self, jobs: Sequence[Job], left: list[int]) -> Iterator[tuple[list[int], list[Outcome | None]]]:
        """Chunks as they come back, in any order."""
        if self._settings is None:
            self._settings = connect(self.backend, self.scheduler)
            self.workers = cores(self._settings, self.workers)
            for _ in self._parallel(START, [(ready,)] * self.workers):
                pass
        size = self._size(len(left), self.workers)
        chunks = [left[i : i + size] for i in range(0, len(left), size)]
        calls = [(keep, self.smt, self.limits, [jobs[place] for place in places], places) for places in chunks]
        yield from self._parallel(self.limits.limit + GRACE, calls)

    def _parallel(self, timeout: float, calls: list[tuple[Any, ...]]) -> Iterator[Any]:
        """What calls return, as they end; raises where none has ended for so many seconds."""
        joblib = importlib.import_module("joblib")
        if self._ray is not None:
            self._ray.timeout = timeout
        with joblib.parallel_config(self.backend, **(self._settings or {})):
            parallel = self._ray or joblib.Parallel(
                max(2, self.workers),
                batch_size=1,
                pre_dispatch="all",
                max_nbytes=None,
                timeout=timeout,
                return_as="list" if self.backend == "ray" else "generator_unordered",
            )
            if self.backend == "ray" and self._ray is None:
                self._ray = parallel.__enter__()
            yield from parallel(joblib.delayed(call[0])(*call[1:]) for call in calls)


def _lost(error: Exception) -> bool:
    """Whether an error means that workers are gone, rather than that something is wrong with what they were sent."""
    if isinstance(error, SoftgroundError):
        return False
    return isinstance(error, LOST) or type(error).__module__.partition(".")[0] in ("distributed", "ray")


_crews: dict[tuple[str, Limits, int], Crew] = {}


def keep(smt: SMT, limits: Limits, jobs: Sequence[Job], places: list[int]) -> tuple[list[int], list[Outcome | None]]:
    """What a worker does with a chunk: watch over a cell that solves it. Its places say which chunk it was."""
    if not can_fork():
        return places, [*work(smt, limits, jobs)]
    key = (smt.token, limits, threading.get_ident())  # a Dask worker may have several threads: to each its cell
    crew = _crews.pop(key, None) or Crew(smt, limits)
    _crews[key] = crew
    while len(_crews) > ENGINES:
        _crews.pop(next(iter(_crews))).close()
    return places, crew.solve_some(jobs)


def ready() -> None:
    """Sent to a worker before anything else: it comes back when the worker has imported what it needs."""
