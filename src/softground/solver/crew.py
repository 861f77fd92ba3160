"""Solver processes on this machine that share out queries, and are replaced when they die or have to be killed."""

from __future__ import annotations

import itertools
import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any

from ..constraints.smt import SMT
from ..errors import SoftgroundError
from .engine import Engine, grouped
from .process import CAN_FORK, NOTHING, SolverProcess
from .queries import End, Limits, Query, Reply

CHUNKS_PER_PROCESS = 4  # a process that got easy queries goes on with another chunk; sending one costs a millisecond
Groups = list[list[int]]  # queries that are solved together, by their places in a call


@dataclass(eq=False)
class Errand:
    """What a process was sent."""

    groups: Groups
    process: SolverProcess
    new: bool  # whether the process had no errand before
    deadline: float
    done: int = 0  # groups whose replies have come


class Crew:
    """Solves queries in ``size`` processes of this machine, each of which gets ``chunk`` queries at a time.

    Without a chunk, each call's queries are cut into four per process. ``forks=False`` solves in this process, where
    nothing can be killed; so does a system that cannot fork.
    """

    losses = 0  # of workers on other machines

    def __init__(self, smt: SMT, limits: Limits, size: int = 1, chunk: int | None = None, forks: bool = True) -> None:
        self.smt, self.limits, self.size, self.chunk = smt, limits, size, chunk
        self._forks = forks and CAN_FORK
        self._engine: Engine | None = None
        self._idle: list[SolverProcess] = []

    def solve(self, queries: Sequence[Query]) -> list[Reply]:
        """A reply to each query."""
        chunk = self.chunk or math.ceil(len(queries) / (CHUNKS_PER_PROCESS * self.size))
        found = self._work(queries, chunk, math.inf)
        return [found[place] for place in range(len(queries))]

    def solve_some(self, queries: Sequence[Query]) -> list[Reply | None]:
        """Replies within the limit; None for queries that were not begun within half of it."""
        found = self._work(queries, len(queries), time.monotonic() + self.limits.limit)
        return [found.get(place) for place in range(len(queries))]

    def __del__(self) -> None:
        for process in self._idle:
            process.end()

    def _work(self, queries: Sequence[Query], chunk: int, ends: float) -> dict[int, Reply]:
        found: dict[int, Reply] = {}
        waiting = deque[Groups]()
        for i in range(0, len(queries), chunk or 1):
            groups = grouped(queries[i : i + chunk], self.smt.space.sizes, self.limits.table)
            waiting.append([[i + place for place in group] for group in groups])
        if not self._forks:
            self._engine = self._engine or Engine(self.smt, self.limits)
            for group in itertools.chain(*waiting):
                found.update(zip(group, self._engine.solve([queries[place] for place in group]), strict=True))
            return found
        busy: dict[Any, Errand] = {}
        try:
            while waiting or busy:
                while waiting and len(busy) < self.size:
                    if not busy and found and time.monotonic() > ends - self.limits.soft:
                        return found
                    errand = self._begin(queries, waiting.popleft(), ends)
                    busy[errand.process.connection] = errand
                patience = min(errand.deadline for errand in busy.values()) - time.monotonic()
                ready = wait(list(busy), max(0.0, patience))
                for connection, errand in list(busy.items()):
                    end = self._listen(errand, found) if connection in ready else None
                    if end is None and time.monotonic() >= errand.deadline:
                        end = "timeout"
                    if end is not None:
                        del busy[connection]
                        if left := self._settle(errand, end, found):
                            waiting.append(left)
            return found
        finally:
            for errand in busy.values():  # after an error: a late reply must not be taken for another query's
                errand.process.end()

    def _begin(self, queries: Sequence[Query], groups: Groups, ends: float) -> Errand:
        while True:
            new = not self._idle
            process = SolverProcess(self.smt, self.limits) if new else self._idle.pop()
            process.at[0] = NOTHING
            now = time.monotonic()
            deadline = min(ends, now + self.limits.limit)
            try:
                asked = [[queries[place] for place in group] for group in groups]
                process.connection.send((asked, deadline - now - self.limits.soft))
                return Errand(groups, process, new, deadline)
            except (BrokenPipeError, ConnectionResetError):  # it died while idle
                process.end()

    def _listen(self, errand: Errand, found: dict[int, Reply]) -> End | None:
        """Take one message; returns how the errand ended, if it has."""
        try:
            message = errand.process.connection.recv()
        except (EOFError, ConnectionResetError):
            return "crashed"
        if message is None:
            return "whole"
        if isinstance(message, SoftgroundError):
            raise message
        for replies in message:
            found.update(zip(errand.groups[errand.done], replies, strict=True))
            errand.done += 1
        return None

    def _settle(self, errand: Errand, end: End, found: dict[int, Reply]) -> Groups:
        """Keep the process or end it, reply for the group that it was at, and return what must be asked again."""
        replied = itertools.chain(*errand.groups[: errand.done])
        if end == "whole" and not any(found[place].end == "memory" for place in replied):
            self._idle.append(errand.process)
        else:
            errand.process.end()  # after a query that took all memory, too: a new process has it back
        at, left = errand.process.at[0], errand.groups[errand.done :]
        if end != "whole" and at == NOTHING and errand.new:  # it cannot begin, and another could not either
            found.update(dict.fromkeys(itertools.chain(*left), Reply([], end, "alone")))
            return []
        if end == "whole" or at < errand.done:  # no time for more, or stopped or killed while it did nothing
            return left
        doing = left.pop(at - errand.done)
        if end == "crashed" and len(doing) > 1:  # one of them did it
            return [*([place] for place in doing), *left]
        found.update(dict.fromkeys(doing, Reply([], end, "no" if len(doing) == 1 else "alone")))
        return left
