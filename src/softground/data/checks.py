"""What is refused before anything is read or made: folders that are not there, data that do not fit into memory."""

from decimal import Decimal
from os import PathLike
from pathlib import Path

from ..errors import DataError
from ..files import memory_size


def existing_folder(given: str | PathLike[str], holds: str) -> Path:
    """The folder ``given``, with ``~`` as the user's home; ``holds`` says what should be in it."""
    try:
        root = Path(given).expanduser()
        if root.is_dir():
            return root
        reason = "is a file" if root.exists() else "does not exist"
    except (OSError, RuntimeError, ValueError) as error:  # too long a name, nobody's home
        reason = f"cannot be used ({error})"
    raise DataError(f"data_dir {given} {reason}; give the folder that holds {holds}.")


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
