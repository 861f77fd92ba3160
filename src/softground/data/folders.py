"""The folder that a user names, found or refused."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from ..errors import DataError


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
