"""A process that only solves, and that can be killed when it does not come back.

Solvers seldom look at their clock, a formula in Python never does, and the system may stop a process or kill it. So
queries are solved in a process forked for them. It notes how far it is in memory shared with its parent, and sends
replies as it finds them. If it dies, the parent knows what it was doing; if it is late, the parent kills it.

It ends when its parent ends, whatever the reason: an idle process finds its pipe closed; a busy one is killed by the
system (Linux), or looks every second whether its parent is still there.
"""

import contextlib
import ctypes
import mmap
import os
import signal
import sys
import threading
import time
import warnings
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from ..errors import InverseError, SoftgroundError
from .engine import Limits, engine
from .memory import confine

CAN_FORK = hasattr(os, "fork")  # not on Windows
SECONDS_BETWEEN_SENDS = 0.05  # each message wakes the parent, which costs time
NO_GROUP = -1  # where a process is before it has begun a group
PR_SET_PDEATHSIG = 1  # Linux's prctl: the signal to get when the parent ends


class SolverProcess:
    """A forked process with an engine for one rule.

    It is sent groups of queries and the seconds after which to begin no other group. It sends lists of replies, one for
    each group in order, then None; or an error. ``at[0]`` is the group that it is at, or was at when it died.
    """

    def __init__(self, rule: Any, limits: Limits) -> None:
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
        self.connection.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def _live(self, connection: Connection, rule: Any, limits: Limits) -> NoReturn:
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
