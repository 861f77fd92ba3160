"""Damage to files: bytes changed at random, JSON changed in its structure, and other things where a file should be."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

HOLE = 2**40  # bytes of a sparse file: nothing on the disk, everything if it were read
JUNK: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    10**15,
    -(10**15),
    10**30,
    10**400,
    0.5,
    1e308,
    -0.0,
    "",
    " ",
    "x",
    "1+1",
    "\0",
    "\ud800",
    "😀",
    "../../x",
    "a" * 300,
    [],
    [[]],
    [0],
    {},
    {"x": None},
    {"": {"": []}},
    float("nan"),
    float("inf"),
    [None] * 40,
)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The bytes with something wrong."""
    at = rng.randrange(len(data) + 1)
    span = rng.randrange(1, 2 + len(data) // rng.choice((1, 8, 64)))
    match rng.randrange(9):
        case 0:
            return data[:at]
        case 1 | 2:
            return _flipped(data, rng)
        case 3:
            return data[:at] + rng.randbytes(span) + data[at + span :]
        case 4:
            return data[:at] + rng.randbytes(span) + data[at:]
        case 5:
            return data[:at] + data[at + span :]
        case 6:
            return data[:at] + bytes(span) + data[at + span :]
        case 7:
            return rng.choice((b"", b"\0", b"\n", data * 2, data[::-1], b"\xff\xfe" + data))
    return rng.randbytes(rng.choice((1, 10, 1000)))


def _flipped(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8)) if data else 0):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def damaged_json(data: bytes, rng: random.Random) -> bytes:
    """Text that is still JSON, or nearly: values, keys and lists exchanged for others, in any of its lines."""
    lines = data.splitlines() if data.count(b"\n") > 1 and not data.startswith(b"{\n") else [data]
    at = rng.randrange(len(lines))
    if rng.random() < 0.1:
        deep = rng.choice(
            (b"[" * 100_000, b'{"a":' * 100_000, b"[" * 300 + b"]" * 300, b"1" * 5_000, b"NaN", b'"\\ud800"')
        )
        lines[at] = rng.choice((deep, lines[at] + deep, b'{"options":' + deep + b"}"))
    else:
        value = json.loads(lines[at])
        for _ in range(rng.choice((1, 1, 1, 3))):
            value = _changed(value, rng)
        lines[at] = json.dumps(value).encode()
    return b"\n".join(lines) + b"\n"


def _changed(value: Any, rng: random.Random) -> Any:
    """``value`` with one node, at any depth, replaced, removed or added."""
    if not isinstance(value, dict | list) or not value or rng.random() < 0.15:
        return rng.choice(JUNK)
    changed: Any = value.copy()
    key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
    match rng.randrange(8):
        case 0:
            del changed[key]
        case 1 if isinstance(changed, dict):
            changed[rng.choice(("", "x", "\ud800", str(key).upper()))] = changed.pop(key)
        case 2 if isinstance(changed, list):
            changed.insert(key, rng.choice(JUNK))
        case _:
            changed[key] = _changed(value[key], rng)
    return changed


def _gone(path: Path) -> None:
    path.unlink()


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _endless(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def _hole(path: Path) -> None:
    os.truncate(path, HOLE)


PLACES: tuple[Callable[[Path], None], ...] = (_gone, _folder, _pipe, _loop, _endless, _hole)
"""What may be where a file should be: nothing, a folder, a pipe, a link to itself, a device without end, a hole."""


def put_back(path: Path, data: bytes) -> None:
    """The file as it was, whatever is there now."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.write_bytes(data)


__all__ = ["HOLE", "JUNK", "PLACES", "damaged", "damaged_json", "put_back"]
