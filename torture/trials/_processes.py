"""Processes found by their parents, to be killed or stopped from outside."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from ..trial import Unavailable


def children(parent: int, called: str = "") -> list[int]:
    """Child processes whose command line contains a word."""
    if not Path("/proc/self/stat").exists():
        raise Unavailable("processes are looked up in /proc, which this system does not have")
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            # "pid (name) state parent …", and the name may hold anything
            of = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if of == parent and called in (folder / "cmdline").read_text():
                found.append(int(folder.name))
    return sorted(found)


def loky_workers() -> list[int]:
    """The workers of joblib's pool in this process."""
    return children(os.getpid(), "LokyProcess")


def cells(parent: int) -> list[int]:
    """Processes that one has forked, which still bear its command line."""
    return children(parent, Path(f"/proc/{parent}/cmdline").read_text())


def strike(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to those that are still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
