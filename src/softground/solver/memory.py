"""Limits on memory: Z3's own for a query, and the system's for a process that only solves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MIB = 2**20
SLACK = 256  # MiB beside the limit in a process of its own: stacks and heaps of Z3's threads, which are hardly touched


@contextmanager
def bounded(z3: Any, memory: int | None) -> Iterator[None]:
    """Let Z3 take so many MiB more than it holds now, since it does not give back what past queries left behind.

    Past that it raises, and is of use again once the limit is lifted. The limit is the process's, not a context's.
    """
    if memory is None:
        yield
        return
    z3.set_param("memory_max_size", math.ceil(z3.Z3_get_estimated_alloc_size() / MIB) + memory)
    try:
        yield
    finally:
        z3.set_param("memory_max_size", 0)


def confine(memory: int | None) -> None:
    """Let this process grow no more than by the limit and some slack: for what Z3 does not count, a formula's own."""
    if memory is None:
        return
    try:
        import resource

        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        most = now + (memory + SLACK) * MIB
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    except (ImportError, OSError, ValueError):
        return  # not Linux: Z3's own limit has to do


def short_of_memory(z3: Any, error: BaseException) -> bool:
    """Whether an error says that memory was up."""
    return isinstance(error, MemoryError) or (isinstance(error, z3.Z3Exception) and "memory" in str(error))
