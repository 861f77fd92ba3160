"""Reading and writing small files so that neither a crash nor a damaged disk goes unnoticed.

A file is replaced by writing a neighbour, forcing it to disk and renaming it over the old one. A reader
therefore finds the old content or the new one, never a mixture.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from ..errors import CheckpointError

DOCUMENT_LIMIT = 64 * 2**20
"""The largest JSON document read, in bytes: far above any real one, far below what would fill the memory."""


class Unreadable(Exception):
    """Why a file could not be used, as a clause; callers add the path and the remedy."""


class Missing(Unreadable):
    """There is no such file."""


def failure(path: Path, reason: str, remedy: str) -> CheckpointError:
    """The one form of message used here: which file, what is wrong with it, what to do next."""
    return CheckpointError(f"{path}: {reason}. {remedy}.")


def describe(error: OSError) -> str:
    """An operating-system error as a clause without the path, which the message already has."""
    return (error.strerror or str(error) or type(error).__name__).lower()


def sync_folder(folder: Path) -> None:
    """Force a folder's entries to disk, so that a rename in it survives a power cut."""
    if os.name == "nt":  # Windows cannot open a folder; its renames are journalled by the file system.
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def temporary(path: Path) -> Path:
    """Where the new content of ``path`` is written before it is renamed: the same folder, hence the same disk."""
    return path.with_name(f".{path.name}.tmp")


def replace_file(path: Path, data: bytes) -> None:
    """Give ``path`` the content ``data``, all or nothing, durably.

    Raises
    ------
    CheckpointError
        When the system refuses; the old content is then still in place.
    """
    new = temporary(path)
    try:
        with open(new, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(new, path)
        sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise failure(
            path,
            f"it could not be written: {describe(error)}",
            "Check that the folder exists, that you may write to it and that the disk has room; "
            "what was saved before is untouched",
        ) from error


def read_bounded(path: Path, limit: int) -> bytes:
    """The content of a regular file of at most ``limit`` bytes.

    Raises
    ------
    Unreadable
        When the file is missing, is not a regular file (a pipe would block for ever) or is too large.
    """
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable("it is not a regular file")
        with open(path, "rb") as stream:
            data = stream.read(min(found.st_size, limit) + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise Missing("the file is missing") from error
    except OSError as error:
        raise Unreadable(f"it could not be read: {describe(error)}") from error
    if len(data) > limit:
        raise Unreadable(f"it is larger than the {limit} bytes allowed")
    return data


def _refuse_constant(token: str) -> NoReturn:
    raise ValueError(f"{token} is not JSON")


def parse_object(data: bytes | str) -> dict[str, Any]:
    """A JSON object from text; anything else, including NaN and absurdly deep nesting, is :class:`Unreadable`."""
    try:
        value = json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it is not valid JSON ({error})") from error
    if not isinstance(value, dict):
        raise Unreadable(f"it holds a JSON {type(value).__name__} where an object was expected")
    return value


__all__ = [
    "DOCUMENT_LIMIT",
    "Missing",
    "Unreadable",
    "describe",
    "failure",
    "parse_object",
    "read_bounded",
    "replace_file",
    "sync_folder",
    "temporary",
]
