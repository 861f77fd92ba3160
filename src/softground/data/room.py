"""Whether data and a batch of them fit into memory, asked before any are made."""

from __future__ import annotations

from decimal import Decimal

from ..errors import DataError
from ..files import memory_size


def check_room(what: str, count: int, each: int) -> None:
    """Refuse ``count`` things of ``each`` bytes that would take more than three quarters of this machine's memory.

    >>> check_room("boards", 50, 16 * 28 * 28)
    """
    memory = memory_size()
    if 4 * count * each > 3 * memory:
        raise DataError(
            f"{Decimal(count):.3g} {what} of {each:,} bytes were asked for, and this machine has {memory:.3g} bytes of "
            "memory: ask for fewer or smaller ones."
        )
