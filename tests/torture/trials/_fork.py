"""One case in a process of its own, forked from this one: what it returned, raised or printed, and what it cost."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ..trial import Unavailable

KILOBYTE = 1024  # Linux counts memory in these


@dataclass(frozen=True)
class Ended:
    """How a child ended.

    Attributes
    ----------
    value
        What the function returned, as JSON; None where it did not return.
    trouble
        The traceback of what it raised, or what else ended it; empty where nothing did.
    growth
        Bytes of memory at its peak beyond those it began with.
    output
        What was printed.
    """

    value: Any
    trouble: str
    growth: int
    output: str


def forked(function: Callable[[], Any], seconds: int = 60, room: int | None = None) -> Ended:
    """Call ``function`` in a child that gets so many ``seconds`` and ``room`` bytes of address space beyond its own."""
    if not hasattr(os, "fork") or not Path("/proc/self/status").exists():
        raise Unavailable("it needs fork and /proc, that is, Linux")
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as answer:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _live(function, seconds, room, output.fileno(), answer.fileno())
        _, status = os.waitpid(child, 0)
        output.seek(0)
        answer.seek(0)
        said, told = output.read().decode(errors="replace"), answer.read()
    trouble = f"ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else ""
    value, raised, growth = json.loads(told) if told else (None, trouble or "it ended without an answer", 0)
    return Ended(value, raised or trouble, growth, said)


def _live(function: Callable[[], Any], seconds: int, room: int | None, output: int, answer: int) -> None:
    """The child's whole life; nothing of the parent's is run again at its end."""
    told: tuple[Any, str] = None, ""
    before = _memory("VmRSS")
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        torch.set_num_threads(1)  # the parent's threads are not here
        if room is not None:
            limit = _memory("VmSize") + room
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.stdout, sys.stderr = (os.fdopen(os.dup(output), "w", buffering=1) for _ in range(2))
        told = function(), ""
    except BaseException:
        told = None, traceback.format_exc()
    with suppress(BaseException):
        most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        sys.stdout.flush()
    with suppress(BaseException):
        os.write(answer, json.dumps((*told, _memory("VmHWM") - before)).encode())
    os._exit(0)


def _memory(name: str) -> int:
    """A figure of this process's memory, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) * KILOBYTE


__all__ = ["Ended", "forked"]
