"""Queries on other machines, through joblib's backends for Dask and Ray. All three are imported when first needed.

A worker answers within the limit, with what it has done by then; the rest is sent again. So silence beyond the limit
means that the worker is lost: stopped, or its machine gone. What lost workers had is solved by processes of this
machine. Replies do not depend on who found them, so a run that loses workers ends with the same bits.
"""

import math
import multiprocessing
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from typing import Any

from ..errors import InverseError
from ..optional import load
from .crew import CHUNKS_PER_PROCESS, Crew
from .queries import Limits, Query, Reply

SECONDS_TO_CONNECT = 10.0  # for a scheduler to answer
SECONDS_TO_START = 120.0  # for workers, which import torch
SECONDS_TO_ARRIVE = 0.5  # beyond the limit, for replies on their way
MOST_LOSSES = 3  # after which a cluster is left alone
CREWS_KEPT = 8  # in a worker: rules whose solvers stay warm
LOST = (BrokenExecutor, CancelledError, TimeoutError, multiprocessing.TimeoutError, OSError, EOFError)


class Cluster:
    """Solves queries on the ``"dask"`` or ``"ray"`` cluster with the address ``scheduler``, as long as there is one.

    The crew, processes of this machine, solves what lost workers had.
    """

    def __init__(self, crew: Crew, backend: str, scheduler: str | None) -> None:
        self.crew, self.backend, self.scheduler = crew, backend, scheduler
        self.workers, self.losses = crew.size, 0
        self._settings: dict[str, Any] | None = None  # of joblib's backend, once there is a connection
        self._ray: Any = None  # kept between calls, because Ray's backend starts new workers for each Parallel

    def solve(self, queries: Sequence[Query]) -> list[Reply]:
        """A reply to each query, whatever becomes of the workers."""
        found: dict[int, Reply] = {}
        left = list(range(len(queries)))
        while left and self.losses < MOST_LOSSES:
            try:
                for places, replies in self._send(queries, left):
                    found.update({p: r for p, r in zip(places, replies, strict=True) if r is not None})
            except Exception as error:
                if not _lost(error):
                    raise
                self.losses += 1
                break
            finally:
                left = [place for place in left if place not in found]
        found.update(zip(left, self.crew.solve([queries[place] for place in left]), strict=True))
        return [found[place] for place in range(len(queries))]

    def _send(self, queries: Sequence[Query], left: list[int]) -> Iterator[tuple[list[int], list[Reply | None]]]:
        if self._settings is None:  # an empty chunk for each worker comes back when it has imported all that it needs
            self._settings = {"client": _dask(self.scheduler)} if self.backend == "dask" else _ray(self.scheduler)
            if self.backend == "dask":
                self.workers = sum(self._settings["client"].ncores().values()) or self.workers
            yield from self._parallel(SECONDS_TO_START, [([], [])] * self.workers)
        size = self.crew.chunk or math.ceil(len(left) / (CHUNKS_PER_PROCESS * self.workers))
        chunks = [left[i : i + size] for i in range(0, len(left), size)]
        calls = [([queries[place] for place in places], places) for places in chunks]
        yield from self._parallel(self.crew.limits.limit + SECONDS_TO_ARRIVE, calls)

    def _parallel(self, timeout: float, calls: list[tuple[list[Query], list[int]]]) -> Iterator[Any]:
        """Chunks as they come back, in any order; raises where none has come for so many seconds."""
        joblib = load("joblib", "A cluster", "joblib", InverseError)
        if self._ray is not None:
            self._ray.timeout = timeout
        with joblib.parallel_config(self.backend, **(self._settings or {})):
            parallel = self._ray or joblib.Parallel(
                max(2, self.workers),
                batch_size=1,
                pre_dispatch="all",
                max_nbytes=None,
                timeout=timeout,
                return_as="list" if self.backend == "ray" else "generator_unordered",  # Ray's has no generators
            )
            if self.backend == "ray" and self._ray is None:
                self._ray = parallel.__enter__()
            yield from parallel(joblib.delayed(answer)(self.crew.rule, self.crew.limits, *call) for call in calls)


def _lost(error: Exception) -> bool:
    """Whether an error means that workers are gone, rather than that what they were sent is wrong."""
    kind = type(error)
    if kind.__name__.startswith("RayTaskError"):  # raised in a worker, which is there
        return False
    return isinstance(error, LOST) or kind.__module__.partition(".")[0] in ("distributed", "ray")


_crews: dict[tuple[str, Limits, int], Crew] = {}


def answer(
    rule: Any, limits: Limits, queries: Sequence[Query], places: list[int]
) -> tuple[list[int], list[Reply | None]]:
    """What a worker does: have a process of its own solve a chunk. The places say which chunk it was."""
    key = (rule.token, limits, threading.get_ident())  # a worker may have several threads: one process for each
    crew = _crews.pop(key) if key in _crews else Crew(rule, limits)
    _crews[key] = crew  # at the end: the least recently used is first
    while len(_crews) > CREWS_KEPT:
        del _crews[next(iter(_crews))]
    return places, crew.solve_some(queries)


def _dask(scheduler: str | None) -> Any:
    distributed = load("distributed", "A Dask cluster", "distributed joblib", InverseError)
    try:
        if scheduler is None:
            return distributed.get_client()
        client = distributed.Client(scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False)
        client.wait_for_workers(1, timeout=SECONDS_TO_CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        raise InverseError(
            f"No Dask cluster with workers answered within {SECONDS_TO_CONNECT:g} s; scheduler={scheduler!r} was given "
            f"({type(error).__name__}: {error}). Start one with 'dask scheduler' and, on each machine, 'dask worker "
            "ADDRESS', and give scheduler='tcp://HOST:8786'; or use the backend 'local'."
        ) from error
    return client


def _ray(scheduler: str | None) -> dict[str, Any]:
    ray, backend = (load(module, "A Ray cluster", "ray joblib", InverseError) for module in ("ray", "ray.util.joblib"))
    try:
        if not ray.is_initialized():
            ray.init(address=scheduler, log_to_driver=False)
    except (OSError, RuntimeError, ValueError) as error:
        raise InverseError(
            f"No Ray cluster answered; scheduler={scheduler!r} was given ({type(error).__name__}: {error}). "
            "Start one with 'ray start --head', or use the backend 'local'."
        ) from error
    backend.register_ray()
    return {}
