"""Processes to be killed or stopped from outside."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from ..trial import Unavailable


def forked() -> list[int]:
    """Processes that this one has forked: they still bear its command line."""
    if not Path("/proc/self/stat").exists():
        raise Unavailable("processes are looked up in /proc, which this system does not have")
    command = Path("/proc/self/cmdline").read_text()
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            # "pid (name) state parent …", and the name may hold anything
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and (folder / "cmdline").read_text() == command:
                found.append(int(folder.name))
    return sorted(found)


def strike(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to those that are still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def until_still(pids: list[int]) -> None:
    """Wait until all of them are stopped or gone, however long that takes."""
    while any(_state(pid) not in "TtZX" for pid in pids):
        time.sleep(0.01)


def _state(pid: int) -> str:
    """A process's state as one letter; X where it is gone."""
    with contextlib.suppress(OSError):
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
    return "X"
