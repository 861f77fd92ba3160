"""Memory limits: a solver's own for a query, and the system's for a process that only solves."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MIB = 2**20
SLACK_MIB = 256  # address space beside the limit, for stacks and heaps of Z3's threads; hardly any of it is used


@contextmanager
def bounded(z3: Any, memory: int | None) -> Iterator[None]:
    """Let Z3 take this many MiB more than it holds now; it keeps what past queries took.

    Beyond that Z3 raises an error, and works again once the limit is lifted. The limit holds for the whole process.
    """
    if memory is not None:
        z3.set_param("memory_max_size", math.ceil(z3.Z3_get_estimated_alloc_size() / MIB) + memory)
    try:
        yield
    finally:
        if memory is not None:
            z3.set_param("memory_max_size", 0)


def confine(memory: int | None) -> None:
    """Limit this process's growth, for memory that Z3 does not count, such as a formula's own."""
    if memory is None:
        return
    try:
        import resource

        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        most = now + (memory + SLACK_MIB) * MIB
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    except (ImportError, OSError, ValueError):
        return  # not Linux: only Z3's own limit holds


def held() -> int | None:
    """The MiB that this process holds; None where the system does not say."""
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) // 1024
    except OSError:
        return None  # not Linux


def short_of_memory(z3: Any, error: BaseException) -> bool:
    """Whether an error means that memory ran out."""
    return isinstance(error, MemoryError) or (isinstance(error, z3.Z3Exception) and "memory" in str(error))
