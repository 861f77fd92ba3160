"""Whether data fit into memory, asked before any are made."""

from __future__ import annotations

from decimal import Decimal

from ..errors import DataError
from ..files import memory_size


def check_room(what: str, count: int, each: int) -> None:
    """Refuse ``count`` examples of ``each`` bytes where this machine could not hold them.

    >>> check_room("boards", 50, 16 * 28 * 28)
    """
    memory = memory_size()
    if count * each > memory:
        raise DataError(
            f"{Decimal(count):.3g} {what} of {each:,} bytes were asked for, and this machine has {memory:.3g} bytes of "
            "memory: ask for fewer."
        )
