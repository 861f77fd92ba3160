"""The folder that a user names, found or refused."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from ..errors import DataError


def existing_folder(given: str | PathLike[str], holds: str) -> Path:
    """The folder ``given``, with ``~`` as the user's home; ``holds`` says what should be in it.

    Raises
    ------
    DataError
        When there is none, it is a file, or its name cannot be one (too long, the home of nobody).
    """
    root = Path(given)
    try:
        root = root.expanduser()
        found, taken = root.is_dir(), root.exists()
    except (OSError, RuntimeError, ValueError) as error:
        raise DataError(f"data_dir {root} cannot be used ({error}); give the folder that holds {holds}.") from error
    if taken and not found:
        raise DataError(f"data_dir {root} is a file; give the folder it lies in, which holds {holds}.")
    if not found:
        raise DataError(f"data_dir {root} does not exist and is not a folder that holds {holds}: check the path.")
    return root
