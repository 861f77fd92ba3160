"""Solver processes on this machine that share queries, and are replaced when they die or are killed.

**A process.** Solvers seldom check their time limit, a formula in Python never does, and the system may stop or kill a
process. So queries are solved in a forked process. It records its progress in memory shared with its parent, and sends
replies as it finds them. If it dies, the parent knows its last query; if it is late, the parent kills it.

It ends when its parent ends: an idle process finds its pipe closed; a busy one is killed by the system (Linux), or
checks every second whether its parent still exists.
"""

import contextlib
import ctypes
import itertools
import math
import mmap
import os
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

from ..errors import InverseError, SoftgroundError
from .engine import End, Engine, Limits, Query, Reply, engine, grouped
from .memory import confine

CAN_FORK = hasattr(os, "fork")  # not on Windows
SECONDS_BETWEEN_SENDS = 0.05  # each message wakes the parent, which costs time
NO_GROUP = -1  # the group of a process that has not begun one
PR_SET_PDEATHSIG = 1  # Linux's prctl: the signal to get when the parent ends
CHUNKS_PER_PROCESS = 4  # a process that finishes early takes another chunk; sending one costs a millisecond
Groups = list[list[int]]  # queries that are solved together, by their places in a call


class SolverProcess:
    """A forked process with an engine for one rule.

    It receives groups of queries, and the seconds after which to begin no other group. It sends lists of replies, one
    for each group in order, then None; or an error. ``at[0]`` is its current group, or the last one before it died.
    """

    def __init__(self, rule: object, limits: Limits) -> None:
        self.at = memoryview(mmap.mmap(-1, 8)).cast("q")
        self.parent = os.getpid()
        self.connection, there = Pipe()
        with warnings.catch_warnings():
            # Later Pythons warn of threads; the child touches nothing that another thread may hold.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            self._live(there, rule, limits)
        there.close()

    def end(self) -> None:
        """Kill it, even if it is stopped or hung, and leave no zombie."""
        if os.getpid() != self.parent:
            return  # a copy in another forked process
        with contextlib.suppress(OSError):  # the garbage collector may have closed it before
            self.connection.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def _live(self, connection: Connection, rule: object, limits: Limits) -> NoReturn:
        """Answer the parent until it ends."""
        try:
            for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # these are for the parent to handle
                signal.signal(ignored, signal.SIG_IGN)
            sys.unraisablehook = lambda unraisable: None  # copies of the parent's objects find their files closed
            # Only the parent may hold its ends of pipes: others see them close when it ends.
            os.closerange(3, connection.fileno())
            os.closerange(connection.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
            _end_with(self.parent)
            confine(limits.memory)
            solver = None
            while True:
                groups, seconds = connection.recv()
                ends, sent, replies = time.monotonic() + seconds, time.monotonic(), []
                try:
                    solver = solver or engine(rule, limits)
                    for number, group in enumerate(groups):
                        if time.monotonic() > ends:
                            break
                        self.at[0] = number
                        replies.append(solver.solve(group))
                        if time.monotonic() - sent > SECONDS_BETWEEN_SENDS:
                            connection.send(replies)
                            sent, replies = time.monotonic(), []
                    connection.send(replies)
                    connection.send(None)
                except SoftgroundError as error:
                    connection.send(error)
                except MemoryError:
                    os._exit(1)
                except Exception as error:
                    connection.send(InverseError(f"A solver process failed: {type(error).__name__}: {error}."))
        finally:
            os._exit(0)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(0)


def _end_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before that was set
            os._exit(0)
    else:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


@dataclass(eq=False)
class Job:
    """The work of a process."""

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
            except (BrokenPipeError, ConnectionResetError):  # the process died while idle
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
        """Keep the process or end it, reply for its current group, and return the groups to ask again."""
        replied = itertools.chain(*job.groups[: job.done])
        if end == "whole" and not any(found[place].end == "memory" for place in replied):
            self._idle.append(job.process)
        else:
            job.process.end()  # also after a query that used all memory, which a new process has back
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
