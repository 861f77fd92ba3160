"""The pointer: a small file that says which checkpoint is the current one, and which the one before.

It exists twice. ``checkpoint.json`` has both; ``checkpoint-previous.json`` has the one before alone, so that a damaged
pointer costs one checkpoint, as a damaged checkpoint does, and not the run. Neither can stand for the other.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..files import Unreadable, parse_object, read_bounded, replace_file
from .migrations import POINTERS, migrated, newest

POINTER = "checkpoint.json"
SPARE = "checkpoint-previous.json"
POINTER_LIMIT = 2**20
NAME = re.compile(r"checkpoint-([0-9]{8,20})\.safetensors")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Entry:
    """One checkpoint file as the pointer describes it."""

    file: str
    sha256: str
    size: int

    @property
    def number(self) -> int:
        """Its place in the order of saving."""
        return number(self.file) or 0


def number(name: str) -> int | None:
    """The number of a checkpoint's file; None for other names."""
    found = NAME.fullmatch(name)
    return int(found[1]) if found else None


def exists(folder: Path) -> bool:
    """Whether a checkpoint was ever completed in ``folder`` (it may still prove damaged)."""
    return any(os.path.lexists(Path(folder) / name) for name in (POINTER, SPARE))


def write(folder: Path, current: Entry, previous: Entry | None) -> None:
    """Make ``current`` the current checkpoint, atomically; the spare is written first, as it holds in either case."""
    if previous is not None:
        replace_file(folder / SPARE, _text(None, previous), last=False)
    replace_file(folder / POINTER, _text(current, previous))


def read(folder: Path) -> tuple[Entry, Entry | None]:
    """The current checkpoint and the one before it.

    Raises
    ------
    Unreadable
        Where the pointer is missing, damaged, or from a newer version.
    """
    found = _read(folder / POINTER)
    current = _entry(found["current"])
    previous = None if found["previous"] is None else _entry(found["previous"])
    if previous is not None and previous.number >= current.number:
        raise Unreadable(f"the previous checkpoint, {previous.file}, is not older than the current, {current.file}")
    return current, previous


def read_spare(folder: Path) -> Entry | None:
    """The checkpoint before the last, as the spare pointer has it; None where that is of no use either."""
    try:
        found = _read(folder / SPARE)
        return None if found["current"] else _entry(found["previous"])
    except Unreadable:
        return None


def _text(current: Entry | None, previous: Entry | None) -> bytes:
    entries = {"current": current and asdict(current), "previous": previous and asdict(previous)}
    return (json.dumps({"schema": newest(POINTERS)} | entries, indent=2) + "\n").encode()


def _read(path: Path) -> dict[str, Any]:
    found = parse_object(read_bounded(path, POINTER_LIMIT))
    found = migrated(found, found.get("schema"), POINTERS)
    if set(found) != {"schema", "current", "previous"}:
        raise Unreadable(f"its entries are {sorted(found)} instead of schema, current and previous")
    return found


def _entry(value: object) -> Entry:
    if not isinstance(value, dict) or set(value) != {"file", "sha256", "size"}:
        raise Unreadable("an entry does not consist of file, sha256 and size")
    file, sha256, size = value["file"], value["sha256"], value["size"]
    if not isinstance(file, str) or number(file) is None:
        raise Unreadable(f"it names the file {file!r}, which is not a checkpoint's name inside this folder")
    if not isinstance(sha256, str) or not _DIGEST.fullmatch(sha256):
        raise Unreadable("an entry's sha256 is not 64 hexadecimal digits")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise Unreadable(f"an entry's size is {size!r}, not a number of bytes")
    return Entry(file, sha256, size)


__all__ = ["POINTER", "SPARE", "Entry", "exists", "number", "read", "read_spare", "write"]
