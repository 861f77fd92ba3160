"""Solver processes on this machine that share out queries, and are replaced when they die or have to be killed."""

import itertools
import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any

from ..errors import SoftgroundError
from .engine import End, Engine, Limits, Query, Reply, engine, grouped
from .process import CAN_FORK, NO_GROUP, SolverProcess

CHUNKS_PER_PROCESS = 4  # a process that got easy queries goes on with another chunk; sending one costs a millisecond
Groups = list[list[int]]  # queries that are solved together, by their places in a call


@dataclass(eq=False)
class Job:
    """What a process was sent."""

    groups: Groups
    process: SolverProcess
    new: bool  # whether the process had no job before
    deadline: float
    done: int = 0  # groups whose replies have come


class Crew:
    """Solves queries in ``size`` processes of this machine, each of which gets ``chunk`` queries at a time.

    Without a chunk, each call's queries are cut into four per process. ``forks=False`` solves in this process, where
    nothing can be killed; so does a system that cannot fork.
    """

    def __init__(self, rule: Any, limits: Limits, size: int = 1, chunk: int | None = None, forks: bool = True) -> None:
        self.rule, self.limits, self.size, self.chunk = rule, limits, size, chunk
        self._forks = forks and CAN_FORK
        self._engine: Engine | None = None
        self._idle: list[SolverProcess] = []

    def solve(self, queries: Sequence[Query]) -> list[Reply]:
        """A reply to each query."""
        chunk = self.chunk or math.ceil(len(queries) / (CHUNKS_PER_PROCESS * self.size))
        found = self._work(queries, chunk)
        return [found[place] for place in range(len(queries))]

    def __del__(self) -> None:
        for process in self._idle:
            process.end()

    def _work(self, queries: Sequence[Query], chunk: int) -> dict[int, Reply]:
        found: dict[int, Reply] = {}
        waiting = deque[Groups]()
        for i in range(0, len(queries), chunk or 1):
            groups = grouped(queries[i : i + chunk], self.rule.space.sizes, self.limits.table)
            waiting.append([[i + place for place in group] for group in groups])
        if not self._forks:
            self._engine = self._engine or engine(self.rule, self.limits)
            for group in itertools.chain(*waiting):
                found.update(zip(group, self._engine.solve([queries[place] for place in group]), strict=True))
            return found
        busy: dict[Any, Job] = {}
        try:
            while waiting or busy:
                while waiting and len(busy) < self.size:
                    job = self._begin(queries, waiting.popleft())
                    busy[job.process.connection] = job
                patience = min(job.deadline for job in busy.values()) - time.monotonic()
                ready = wait(list(busy), max(0.0, patience))
                for connection, job in list(busy.items()):
                    end = self._listen(job, found) if connection in ready else None
                    if end is None and time.monotonic() >= job.deadline:
                        end = "timeout"
                    if end is not None:
                        del busy[connection]
                        if left := self._settle(job, end, found):
                            waiting.append(left)
            return found
        finally:
            for job in busy.values():  # after an error: a late reply must not be taken for another query's
                job.process.end()

    def _begin(self, queries: Sequence[Query], groups: Groups) -> Job:
        while True:
            new = not self._idle
            process = SolverProcess(self.rule, self.limits) if new else self._idle.pop()
            process.at[0] = NO_GROUP
            deadline = time.monotonic() + self.limits.limit
            try:
                asked = [[queries[place] for place in group] for group in groups]
                process.connection.send((asked, self.limits.soft))
                return Job(groups, process, new, deadline)
            except (BrokenPipeError, ConnectionResetError):  # it died while idle
                process.end()

    def _listen(self, job: Job, found: dict[int, Reply]) -> End | None:
        """Take one message; returns how the job ended, if it has."""
        try:
            message = job.process.connection.recv()
        except (EOFError, ConnectionResetError):
            return "crashed"
        if message is None:
            return "whole"
        if isinstance(message, SoftgroundError):
            raise message
        for replies in message:
            found.update(zip(job.groups[job.done], replies, strict=True))
            job.done += 1
        return None

    def _settle(self, job: Job, end: End, found: dict[int, Reply]) -> Groups:
        """Keep the process or end it, reply for the group that it was at, and return what must be asked again."""
        replied = itertools.chain(*job.groups[: job.done])
        if end == "whole" and not any(found[place].end == "memory" for place in replied):
            self._idle.append(job.process)
        else:
            job.process.end()  # after a query that took all memory, too: a new process has it back
        at, left = job.process.at[0], job.groups[job.done :]
        if end != "whole" and at == NO_GROUP and job.new:  # it cannot begin, and another could not either
            found.update(dict.fromkeys(itertools.chain(*left), Reply([], end, "alone")))
            return []
        if end == "whole" or at < job.done:  # no time for more, or stopped or killed while it did nothing
            return left
        doing = left.pop(at - job.done)
        if end == "crashed" and len(doing) > 1:  # one of them did it
            return [*([place] for place in doing), *left]
        found.update(dict.fromkeys(doing, Reply([], end, "no" if len(doing) == 1 else "alone")))
        return left
