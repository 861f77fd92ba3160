"""Checkpoints without pickle: one safetensors file, its SHA-256, and a small pointer to it.

A folder holds::

    checkpoint-00000007.safetensors    the current checkpoint: tensors, with the meta in the file's header
    checkpoint-00000006.safetensors    the one before it
    checkpoint.json                    the pointer: schema, and file, sha256 and size of both

The pointer is replaced last, and atomically. So a crash before that leaves the old checkpoint current, and
a crash after it the new one. A digest over the whole file is checked before a byte of it is parsed, because
neither torch nor safetensors notices a flipped bit. A damaged current checkpoint leaves the previous one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from .codec import decode, encode
from .files import Missing, Unreadable, describe, failure, parse_object, read_bounded, replace_file, temporary
from .optimizer import pack_optimizer, unpack_optimizer

SCHEMA = 1
POINTER = "checkpoint.json"
POINTER_LIMIT = 2**20
META_LIMIT = 64 * 2**20  # safetensors refuses to read a header above 100 MB.
HEADER_KEY = "softground"
_NAME = re.compile(r"checkpoint-([0-9]{8,})\.safetensors")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Entry:
    """One checkpoint file as the pointer describes it."""

    file: str
    sha256: str
    size: int


def exists(folder: Path) -> bool:
    """Whether a checkpoint was ever completed in ``folder`` (it may still prove damaged)."""
    return os.path.lexists(Path(folder) / POINTER)


def save(folder: Path, tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
    """Make ``tensors`` and ``meta`` the folder's current checkpoint, and keep the one before.

    Views, shared and non-contiguous tensors are stored as independent copies; equal states give equal bytes.
    Tuples, infinities and number keys in ``meta`` come back as they were. One process may save at a time.

    Raises
    ------
    CheckpointError
        When something cannot be stored or written; what the folder held before then still loads.
    """
    folder = Path(folder)
    data = _serialise(folder, tensors, meta)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        numbers = [int(found[1]) for path in folder.iterdir() if (found := _NAME.fullmatch(path.name))]
    except OSError as error:
        raise failure(folder, f"the folder cannot be used: {describe(error)}", "Choose one you may write to") from error
    kept = _newest_intact(folder)
    entry = Entry(f"checkpoint-{max(numbers, default=0) + 1:08d}.safetensors", _digest(data), len(data))
    replace_file(folder / entry.file, data)
    pointer = {"schema": SCHEMA, "current": asdict(entry), "previous": asdict(kept) if kept else None}
    replace_file(folder / POINTER, (json.dumps(pointer, indent=2) + "\n").encode())
    _tidy(folder, {entry.file} | ({kept.file} if kept else set()))


def load(folder: Path, previous: bool = False) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors (on the CPU) and meta of the current checkpoint, or of the one before it.

    Raises
    ------
    CheckpointError
        When there is none, it is damaged in any way, or a newer version of the library wrote it.
    """
    folder = Path(folder)
    current, before = _read_pointer(folder)
    entry = before if previous else current
    if entry is None:
        raise failure(
            folder / POINTER,
            "there is no previous checkpoint, because only one was ever saved",
            "Load the current one",
        )
    try:
        return _parse(_verified(folder, entry))
    except Unreadable as error:
        other, call = (current, "load(folder)") if previous else (before, "load(folder, previous=True)")
        if other is not None and _is_intact(folder, other):
            flag = "without --previous" if previous else "with --previous"
            which = "current" if previous else "previous"
            remedy = f"The {which} checkpoint is intact: use {call}, or resume {flag} on the command line"
        else:
            remedy = "No other checkpoint in this folder is intact: restore it from a backup, or start the run again"
        raise failure(folder / entry.file, str(error), remedy) from error


def _serialise(folder: Path, tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> bytes:
    """The bytes of the checkpoint file. The meta is in its header, so one digest covers both."""
    try:
        text = json.dumps(encode(dict(meta)), allow_nan=False, separators=(",", ":"))
    except (ValueError, RecursionError) as error:
        raise failure(folder, f"the meta cannot be stored ({error})", "Keep it to plain, finite nesting") from error
    if len(text) > META_LIMIT:
        raise failure(folder, f"the meta is larger than {META_LIMIT} bytes", "Store bulky values as tensors")
    copies: dict[str, Tensor] = {}
    try:
        for name, tensor in tensors.items():
            if not isinstance(name, str) or name == "__metadata__":
                raise TypeError(f"the name {name!r} is not a string other than '__metadata__'")
            if not isinstance(tensor, Tensor) or tensor.layout != torch.strided or tensor.is_meta:
                raise TypeError(f"{name!r} is not a dense tensor with values")
            plain = tensor.detach().resolve_conj().resolve_neg()
            copies[name] = plain.to("cpu", copy=True, memory_format=torch.contiguous_format)
        return safetensors.torch.save(copies, metadata={HEADER_KEY: text})
    except Exception as error:
        reason = f"the tensors cannot be stored ({type(error).__name__}: {error})"
        raise failure(folder, reason, "Give dense tensors of a usual dtype, under string names") from error


def _parse(data: bytes) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and meta from verified bytes. A digest proves integrity, not good faith, so all is still checked."""
    try:
        tensors = safetensors.torch.load(data)
        length = int.from_bytes(data[:8], "little")
        text = json.loads(data[8 : 8 + length])["__metadata__"][HEADER_KEY]
        meta = decode(parse_object(text))
        if not isinstance(meta, dict):
            raise ValueError("its meta is not a dict")
    except Exception as error:
        raise Unreadable(f"it is not a softground checkpoint ({type(error).__name__}: {error})") from error
    return tensors, meta


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _verified(folder: Path, entry: Entry) -> bytes:
    """The file's bytes, once their number and their digest agree with the pointer."""
    data = read_bounded(folder / entry.file, entry.size)
    if len(data) < entry.size:
        raise Unreadable(f"it has {len(data)} bytes instead of {entry.size}: it was cut short")
    if _digest(data) != entry.sha256:
        raise Unreadable("its SHA-256 differs from the one recorded when it was written: it is damaged or was changed")
    return data


def _is_intact(folder: Path, entry: Entry) -> bool:
    try:
        _verified(folder, entry)
    except Unreadable:
        return False
    return True


def _newest_intact(folder: Path) -> Entry | None:
    """The checkpoint to keep beside a new one: a damaged file must not push out the last good one."""
    if not exists(folder):
        return None
    return next((entry for entry in _read_pointer(folder) if entry and _is_intact(folder, entry)), None)


def _read_pointer(folder: Path) -> tuple[Entry, Entry | None]:
    path = folder / POINTER
    try:
        pointer = parse_object(read_bounded(path, POINTER_LIMIT))
        schema = pointer.get("schema")
        if isinstance(schema, int) and schema > SCHEMA:
            raise failure(
                path,
                f"it has schema {schema}, and this version of softground reads up to {SCHEMA}",
                "Upgrade softground to a version at least as new as the one that saved it",
            )
        if type(schema) is not int or schema != SCHEMA:
            raise Unreadable(f"its schema is {schema!r} instead of {SCHEMA}")
        if set(pointer) != {"schema", "current", "previous"}:
            raise Unreadable(f"its entries are {sorted(pointer)} instead of schema, current and previous")
        previous = None if pointer["previous"] is None else _entry(pointer["previous"])
        return _entry(pointer["current"]), previous
    except Missing as error:
        raise failure(path, "there is no checkpoint in this folder", "Check the path, or train first") from error
    except Unreadable as error:
        raise failure(
            path,
            str(error),
            "The pointer is damaged: restore it from a backup, or move the folder away and start the run again",
        ) from error


def _entry(value: object) -> Entry:
    if not isinstance(value, dict) or set(value) != {"file", "sha256", "size"}:
        raise Unreadable("an entry does not consist of file, sha256 and size")
    file, sha256, size = value["file"], value["sha256"], value["size"]
    if not isinstance(file, str) or not _NAME.fullmatch(file):
        raise Unreadable(f"it names the file {file!r}, which is not a checkpoint's name inside this folder")
    if not isinstance(sha256, str) or not _DIGEST.fullmatch(sha256):
        raise Unreadable("an entry's sha256 is not 64 hexadecimal digits")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise Unreadable(f"an entry's size is {size!r}, not a number of bytes")
    return Entry(file, sha256, size)


def _tidy(folder: Path, keep: set[str]) -> None:
    """Remove older checkpoints and what crashes left behind. A failure here costs only disk space."""
    with suppress(OSError):
        for path in folder.iterdir():
            name = path.name.removeprefix(".").removesuffix(".tmp")
            if _NAME.fullmatch(name) and path.name in (name, temporary(Path(name)).name) and path.name not in keep:
                path.unlink(missing_ok=True)


__all__ = ["exists", "load", "pack_optimizer", "save", "unpack_optimizer"]
