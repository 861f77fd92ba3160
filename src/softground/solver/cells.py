"""Cells: processes that only solve, and can be ended by force when they do not come back.

Z3 looks at its limits now and then, a formula not at all; a process may also be stopped, or killed by the system for
its memory. So a query that goes out to a worker is solved in a *cell*, a process that the worker forks, as torch's
DataLoader forks its own. A cell notes which queries it begins in memory that it shares with the worker, and sends
outcomes now and then. If it dies, the query that it was at is known; if it is late it is killed, and a new one goes on
with the others a few milliseconds later.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import mmap
import os
import signal
import struct
import sys
import time
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

from ..constraints.smt import SMT
from ..errors import InverseError, SoftgroundError
from .engine import GROUP, Engine, Step
from .memory import confine
from .queries import End, Job, Limits, Outcome

FLUSH = 0.05  # seconds for which a cell may hold outcomes back: each message wakes the worker, which takes its time
DEATHS = 3  # of cells at the same queries, before any was begun: then it is the queries
PDEATHSIG = 1  # Linux's prctl: a signal for the time when the parent is gone


def can_fork() -> bool:
    """Whether this system has cells at all; Windows has none."""
    return hasattr(os, "fork")


class Slate:
    """The places that a cell is at, in memory shared with the process that forked it; it stays when the cell is gone.

    >>> slate = Slate()
    >>> slate.write([3, 5])
    >>> slate.read()
    [3, 5]
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 8 * (1 + GROUP))

    def write(self, places: Sequence[int]) -> None:
        """The number comes last: whoever is killed meanwhile is at nothing, rather than at half of something."""
        struct.pack_into("q", self._memory, 0, 0)
        struct.pack_into(f"{len(places)}q", self._memory, 8, *places)
        struct.pack_into("q", self._memory, 0, len(places))

    def read(self) -> list[int]:
        (count,) = struct.unpack_from("q", self._memory)
        return list(struct.unpack_from(f"{count}q", self._memory, 8))


class Cell:
    """A forked process with an engine for one rule."""

    def __init__(self, smt: SMT, limits: Limits) -> None:
        self.slate = Slate()
        self.connection, there = Pipe()
        self.owner = os.getpid()
        with warnings.catch_warnings():
            # Later Pythons warn of threads; the child touches nothing that another thread may hold.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            _live(there, self.slate, smt, limits)
        there.close()

    def end(self) -> None:
        """Kill it, stopped or hung as it may be, and leave no zombie."""
        if os.getpid() != self.owner:
            return  # a copy in another cell
        self.connection.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _live(connection: Connection, slate: Slate, smt: SMT, limits: Limits) -> NoReturn:
    """What a cell does until its parent is gone."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's business
        sys.unraisablehook = lambda unraisable: None  # copies of the parent's objects find their files closed
        # The parent's pipes stay with the parent: whoever waits for their end must see it.
        os.closerange(3, connection.fileno())
        os.closerange(connection.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PDEATHSIG, signal.SIGKILL)
        confine(limits.memory)
        engine = None
        while True:
            jobs, seconds = connection.recv()
            try:
                engine = engine or Engine(smt, limits)
                for places, outcomes in _held(engine.steps(jobs, seconds), slate):
                    connection.send((places, outcomes))
                connection.send(None)
            except SoftgroundError as error:
                connection.send(error)
            except MemoryError:
                os._exit(1)
            except Exception as error:
                connection.send(InverseError(f"A solver process failed: {type(error).__name__}: {error}."))
    finally:
        os._exit(0)


def _held(steps: Iterator[Step], slate: Slate) -> Iterator[Step]:
    """Note what is begun; hold outcomes back for a while and hand on several together."""
    places, outcomes, last = list[int](), list[Outcome](), time.monotonic()
    for group, found in steps:
        slate.write([] if found else group)
        if found:
            places += group
            outcomes += found
            if time.monotonic() - last > FLUSH:
                yield places, outcomes
                places, outcomes, last = [], [], time.monotonic()
    if places:
        yield places, outcomes


@dataclass(eq=False)
class Task:
    """A chunk that a cell is at: the places of its jobs, and when it must be over."""

    cell: Cell
    places: list[int]
    deadline: float

    @property
    def doing(self) -> list[int]:
        """Those that the cell is at, or was at when it ended."""
        return [self.places[i] for i in self.cell.slate.read()]


class Crew:
    """Cells that share out queries, and are replaced as they fall.

    Parameters
    ----------
    smt, limits
        The rule, and the limits of its queries.
    size
        Cells.
    """

    def __init__(self, smt: SMT, limits: Limits, size: int = 1) -> None:
        self.smt, self.limits, self.size = smt, limits, size
        self._idle: list[Cell] = []

    def solve(self, jobs: Sequence[Job], chunk: int) -> list[Outcome]:
        """An outcome for each job."""
        found = self._work(jobs, chunk, math.inf)
        return [found[place] for place in range(len(jobs))]

    def solve_some(self, jobs: Sequence[Job]) -> list[Outcome | None]:
        """As many as can be begun within half the limit, so that an answer comes within the limit; None for others."""
        found = self._work(jobs, max(1, len(jobs)), time.monotonic() + self.limits.limit)
        return [found.get(place) for place in range(len(jobs))]

    def close(self) -> None:
        """End all cells."""
        while self._idle:
            self._idle.pop().end()

    def __del__(self) -> None:
        self.close()

    def _work(self, jobs: Sequence[Job], chunk: int, ends: float) -> dict[int, Outcome]:
        found: dict[int, Outcome] = {}
        deaths: dict[int, int] = {}
        waiting = deque(list(range(i, min(i + chunk, len(jobs)))) for i in range(0, len(jobs), chunk))
        tasks: dict[Any, Task] = {}
        try:
            while waiting or tasks:
                while waiting and len(tasks) < self.size:
                    if not tasks and found and time.monotonic() > ends - self.limits.soft:
                        return found
                    task = self._begin(jobs, waiting.popleft(), ends)
                    tasks[task.cell.connection] = task
                patience = max(0.0, min(task.deadline for task in tasks.values()) - time.monotonic())
                for connection in wait(list(tasks), patience):
                    task = tasks[connection]
                    end = self._listen(task, found)
                    if end is not None:
                        del tasks[connection]
                        self._after(task, end, found, waiting, deaths)
                for connection, task in list(tasks.items()):
                    if time.monotonic() >= task.deadline:
                        del tasks[connection]
                        self._after(task, "timeout", found, waiting, deaths)
            return found
        finally:
            for task in tasks.values():  # interrupted: what they still say must not be taken for a later answer
                task.cell.end()

    def _begin(self, jobs: Sequence[Job], places: list[int], ends: float) -> Task:
        while True:
            cell = self._idle.pop() if self._idle else Cell(self.smt, self.limits)
            now = time.monotonic()
            deadline = min(ends, now + self.limits.limit)
            try:
                cell.connection.send(([jobs[place] for place in places], deadline - now - self.limits.soft))
                return Task(cell, places, deadline)
            except (BrokenPipeError, ConnectionResetError):  # died while it had nothing to do
                cell.end()

    def _listen(self, task: Task, found: dict[int, Outcome]) -> End | None:
        """Take one message; says how the task ended, if it has."""
        try:
            message = task.cell.connection.recv()
        except (EOFError, ConnectionResetError):
            return "crashed"
        if message is None:
            return "whole"
        if isinstance(message, SoftgroundError):
            raise message
        places, outcomes = message
        found.update(zip([task.places[i] for i in places], outcomes, strict=True))
        return None

    def _after(
        self, task: Task, end: End, found: dict[int, Outcome], waiting: deque[list[int]], deaths: dict[int, int]
    ) -> None:
        """Keep the cell or end it; put what it was at on record, and what it had not begun back."""
        if end == "whole" and not any(found[place].end == "memory" for place in task.places if place in found):
            self._idle.append(task.cell)
        else:
            task.cell.end()  # after a query that took all memory, too: a new one has it back
        doing = task.doing
        left = [place for place in task.places if place not in found and place not in doing]
        if end == "timeout":
            alone = len(doing) == 1
            found.update({place: Outcome([], end, forced=alone, alone=alone) for place in doing or left})
            left = left if doing else []
        elif end == "crashed" and len(doing) == 1:
            found[doing[0]] = Outcome([], end, forced=True)
        elif end == "crashed" and doing:
            waiting.extendleft([place] for place in doing)
        elif end == "crashed":
            for place in left:
                deaths[place] = deaths.get(place, 0) + 1
            found.update({place: Outcome([], end, forced=True) for place in left if deaths[place] >= DEATHS})
            left = [place for place in left if place not in found]
        if left:
            waiting.append(left)
