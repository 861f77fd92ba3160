"""Read and write small files safely: crashes and damaged disks do not go unnoticed.

To replace a file, write a neighbour, force it to disk and rename it over the old one. A reader therefore finds the old
content or the new one, never a mixture. Writes stay in their folder: symbolic links are replaced or refused, never
followed.

Reads are bounded, because files are not trusted: a byte of JSON can become twenty of memory. Values are checked against
the types that a dataclass declares:

>>> from dataclasses import dataclass
>>> @dataclass
... class Point:
...     at: list[float]
...     name: str | None = None
>>> typed(Point, {"at": [1, 2]})
Point(at=[1.0, 2.0], name=None)
>>> typed(Point, {"at": "here"})
Traceback (most recent call last):
ValueError: 'at' is 'here'; expected list[float]
"""

import json
import os
import re
import stat
import types
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from .errors import CheckpointError, Setting

Json = dict[str, Any]
"""An object of a JSON document."""
DOCUMENT_LIMIT = 16 * 2**20
"""The largest JSON document read, in bytes: far above any real one, far below what would fill the memory."""
LINES_LIMIT = 2**25
"""The largest file of lines read, in bytes: some 50,000 epochs."""


NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([e/][+-]?\d+)?")
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    """Untrusted text, with control characters of terminals and writing direction as escapes (``\\x1b``)."""
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def cell(value: object) -> Any:
    """A value for a CSV file: a text that a spreadsheet would take for a formula begins with an apostrophe."""
    if not isinstance(value, str):
        return value
    formula = value[1:] and value[0] in "=+-@\t\n" and not NUMBER.fullmatch(value)
    return harmless(f"'{value}" if formula else value)


class Unreadable(Exception):
    """Why a file could not be used, as a clause; callers add the path and the remedy."""


class Missing(Unreadable):
    """There is no such file."""


def failure(path: Path, reason: str, *remedy: str | Setting) -> CheckpointError:
    """A message of this file: the path, the fault, and the remedy."""
    return CheckpointError(f"{path}: {reason}. ", *remedy, ".")


def describe(error: OSError) -> str:
    """An operating-system error as a clause without the path, which the message already has."""
    return (error.strerror or str(error) or type(error).__name__).lower()


def memory_size() -> int:
    """The machine's memory in bytes; a huge number if it is unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**50


def temporary(path: Path) -> Path:
    """The name for new content of ``path`` before it is renamed: in the same folder, hence on the same disk."""
    return path.with_name(f".{path.name}.tmp")


def replace_file(path: Path, data: bytes) -> None:
    """Give ``path`` the content ``data``, all or nothing, durably.

    Raises :class:`CheckpointError` when the system refuses; the old content is then still in place.
    """
    new = temporary(path)
    if os.path.exists(path) and not path.is_file():  # such as /dev/null, which root could replace
        raise failure(path, "it is not a regular file, and is not replaced", "Give the name of a file")
    try:
        with _fresh(new) as stream:
            stream.write(data)
            _sync(stream)
        os.replace(new, path)
        _sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        remedy = "Check that the folder exists, that you may write to it and that the disk has room; what was saved "
        raise failure(path, f"it could not be written: {describe(error)}", f"{remedy}before is untouched") from error


def append_line(path: Path, line: bytes) -> None:
    """Append a line to a file and force it to disk. A line that a crash left unfinished is dropped first.

    Raises :class:`CheckpointError` when the system refuses; the complete lines are then still in place.
    """
    try:
        new = not path.exists()
        with open(path, "ab+", opener=_no_link) as stream:
            end = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, end - 1))
            if end and stream.read(1) != b"\n":
                stream.seek(0)
                stream.truncate(stream.read().rfind(b"\n") + 1)
            stream.write(line)
            _sync(stream)
        if new:
            _sync_folder(path.parent)
    except OSError as error:
        reason = f"a line could not be added: {describe(error)}"
        raise failure(path, reason, "Check that you may write there and that the disk has room") from error


def _sync(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    """Force a folder's entries to disk, so that a rename in it survives a power cut."""
    if os.name == "nt":  # Windows cannot open a folder; its renames are journalled by the file system.
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _fresh(path: Path) -> BinaryIO:
    """Create a new file; remove a leftover of a crash, or a link, of that name."""
    with suppress(FileExistsError):
        return open(path, "xb")
    path.unlink()
    return open(path, "xb")


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def read_bounded(path: Path, limit: int) -> bytes:
    """The content of a regular file of at most ``limit`` bytes.

    Raises :class:`Unreadable` when it is missing, is not a regular file (a pipe would block for ever) or is too large.
    """
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable("it is not a regular file")
        if found.st_size > limit:
            raise Unreadable(f"it is larger than the {limit} bytes allowed")
        with open(path, "rb") as stream:
            return stream.read(found.st_size + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise Missing("the file is missing") from error
    except OSError as error:
        raise Unreadable(f"it could not be read: {describe(error)}") from error
    except MemoryError as error:
        raise Unreadable("it does not fit into the memory") from error


def _refuse_constant(token: str) -> NoReturn:
    raise ValueError(f"{token} is not JSON")


def parse_object(data: bytes | str) -> Json:
    """A JSON object from text; anything else, including NaN and absurdly deep nesting, is :class:`Unreadable`."""
    try:
        value = json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(f"it is not valid JSON ({error})") from error
    if not isinstance(value, dict):
        raise Unreadable(f"it holds a JSON {type(value).__name__} where an object was expected")
    return value


def read_lines(path: Path) -> list[bytes]:
    """The complete lines of a file, none if it is missing. A last line without its end is still being written.

    Raises :class:`CheckpointError` if the file is unreadable or too large.
    """
    try:
        return read_bounded(path, LINES_LIMIT).split(b"\n")[:-1]
    except Missing:
        return []
    except Unreadable as error:
        raise failure(path, str(error), "Make it readable, or move it away") from error


LARGEST_WHOLE = 2**63  # the first whole number that does not fit into a tensor
SHOWN = 100  # characters of a value in a message


def typed_fields(kind: type[Any], given: Mapping[str, object]) -> Json:
    """Convert the given fields of a dataclass to their types; ValueError for an unknown one."""
    hints, known = get_type_hints(kind), {f.name for f in fields(kind)}
    if unknown := sorted(set(given) - known):
        raise ValueError(f"settings that are not known here: {', '.join(map(repr, unknown))}")
    return {name: typed(hints[name], value, name) for name, value in given.items()}


def typed(kind: Any, value: Any, name: str = "value") -> Any:
    """Convert ``value`` to a ``kind``; a ValueError names it ``name``."""
    origin, parts = get_origin(kind) or kind, get_args(kind)
    match value:
        case _ if kind is Any:
            return value
        case _ if type(value).__module__ == "numpy" and value.shape == ():  # without an import of numpy
            return typed(kind, value.item(), name)
        case _ if origin in (Union, types.UnionType):
            for part in parts:
                try:
                    return typed(part, value, name)
                except ValueError:
                    continue
        case _ if origin is Literal:  # of the same type: JSON's true is not 1
            if any(type(value) is type(word) and value == word for word in parts):
                return value
        case dict() if is_dataclass(kind):
            return kind(**typed_fields(kind, value))  # type: ignore[operator, arg-type]
        case dict() if origin in (dict, Mapping):
            return {key: typed(parts[1], item, name) for key, item in value.items()}
        case list() if origin is list:
            return [typed(parts[0], item, name) for item in value]
        case list() | tuple() if origin is tuple:
            return tuple(typed(parts[0], item, name) for item in value)
        case str() | Path() if kind is Path and "\0" not in str(value):
            return Path(value)
        case int() if abs(value) >= LARGEST_WHOLE:
            pass
        case int() | float() if kind is float and value is not True and value is not False:
            return float(value)
        case _ if type(value) is origin or (value is None and kind is type(None)):
            return value
    shown = repr(value) if len(repr(value)) <= SHOWN else f"{repr(value)[:SHOWN]}…"
    raise ValueError(f"{name!r} is {shown}; expected {kind if parts else kind.__name__}")
