"""Bounds on what one case may take: time, and memory on top of what the process had."""

from __future__ import annotations

import os
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")  # Linux: writing 5 forgets the peak


class Endless(BaseException):
    """The time is up. Not an :class:`Exception`, so that nothing under trial takes it for one of its own."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail a block that takes longer. Only the main thread can be stopped so; elsewhere nothing is bounded."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise Endless

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except Endless:
        raise AssertionError(f"no end after {seconds:g} s") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Memory:
    """How far the resident memory rose above where a block began, in MiB; ``most`` is the most of all blocks."""

    def __init__(self) -> None:
        self.most = 0.0

    @contextmanager
    def within(self, limit: float) -> Iterator[None]:
        """Fail a block that takes more than ``limit`` MiB at any time."""
        with suppress(OSError):
            _RESET.write_text("5")
        before = _resident()
        yield
        grown = max(0.0, _peak() - before)
        self.most = max(self.most, grown)
        assert grown <= limit, f"took {grown:,.0f} MiB"


def _resident() -> float:
    with suppress(OSError, IndexError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    return _peak()


def _peak() -> float:
    with suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


__all__ = ["Endless", "Memory", "within"]
