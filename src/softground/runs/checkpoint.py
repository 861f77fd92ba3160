"""Checkpoints without pickle: one safetensors file, its SHA-256, and a small pointer to it.

A folder holds::

    checkpoint-00000007.safetensors    the current checkpoint: tensors, with the meta in the file's header
    checkpoint-00000006.safetensors    the one before it
    checkpoint.json                    the pointer: schema, and file, sha256 and size of both
    checkpoint-previous.json           the same of the one before alone, should the pointer be damaged

The pointer is replaced last, and atomically. So a crash before that leaves the old checkpoint current, and
a crash after it the new one. A digest over the whole file is checked before a byte of it is parsed, because
neither torch nor safetensors notices a flipped bit. A damaged current checkpoint, or pointer, leaves the previous one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from ..errors import CheckpointError
from ..files import (
    VALUES_LIMIT,
    Missing,
    Unreadable,
    count_values,
    describe,
    failure,
    memory_size,
    parse_object,
    read_bounded,
    replace_file,
    temporary,
)
from . import pointer
from .codec import decode, encode
from .migrations import CHECKPOINTS, Newer, migrated, newest
from .optimizer import pack_optimizer, unpack_optimizer
from .pointer import POINTER, Entry, exists

HEADER_LIMIT = 16 * 2**20
HEADER_KEY = "softground"
PREVIOUS_IS_INTACT = (
    "previous checkpoint is intact: use load(folder, previous=True), or resume with --previous on the command line"
)
CURRENT_IS_INTACT = "current checkpoint is intact: use load(folder), or resume without --previous on the command line"


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
        numbers = [found for path in folder.iterdir() if (found := pointer.number(path.name)) is not None]
    except OSError as error:
        raise failure(folder, f"the folder cannot be used: {describe(error)}", "Choose one you may write to") from error
    kept = _newest_intact(folder)
    entry = Entry(f"checkpoint-{max(numbers, default=0) + 1:08d}.safetensors", _digest(data), len(data))
    replace_file(folder / entry.file, data)
    pointer.write(folder, entry, kept)
    _tidy(folder, {entry.file} | ({kept.file} if kept else set()))


def load(folder: Path, previous: bool = False) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors (on the CPU) and meta of the current checkpoint, or of the one before it.

    Raises
    ------
    CheckpointError
        When there is none, it is damaged in any way, or a newer version of the library wrote it.
    """
    folder = Path(folder)
    current: Entry | None
    try:
        current, before = pointer.read(folder)
        before = before and _previous(folder, before)
    except Unreadable as error:
        current, before = None, pointer.read_spare(folder)
        if not previous or before is None:
            raise _pointless(folder, error, before) from error
    entry = before if previous else current
    if entry is None:
        raise failure(
            folder / POINTER, "there is no previous checkpoint, because only one was ever saved", "Load the current one"
        )
    try:
        return _parse(_verified(folder, entry))
    except Newer as error:
        raise failure(folder / entry.file, str(error), error.remedy) from error
    except Unreadable as error:
        other = current if previous else before
        raise failure(folder / entry.file, str(error), _way_out(folder, other, not previous)) from error


def _pointless(folder: Path, error: Unreadable, before: Entry | None) -> CheckpointError:
    """What to say where there is no pointer to follow."""
    if isinstance(error, Missing) and before is None:
        return failure(folder / POINTER, "there is no checkpoint in this folder", "Check the path, or train first")
    remedy = "The pointer is damaged: restore it from a backup, or move the folder away and start the run again"
    if before is not None and _is_intact(folder, before):
        remedy = f"The pointer is damaged, but the {PREVIOUS_IS_INTACT}"
    if isinstance(error, Newer):
        remedy = error.remedy if before is None else f"{error.remedy}. If no newer one did: {remedy}"
    return failure(folder / POINTER, str(error), remedy)


def _way_out(folder: Path, other: Entry | None, previous: bool) -> str:
    """The remedy for a damaged checkpoint: the other one, if that is any better."""
    if other is None or not _is_intact(folder, other):
        return "No other checkpoint in this folder is intact: restore it from a backup, or start the run again"
    return f"The {PREVIOUS_IS_INTACT if previous else CURRENT_IS_INTACT}"


def _serialise(folder: Path, tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> bytes:
    """The bytes of the checkpoint file. The meta is in its header, so one digest covers both."""
    try:
        text = json.dumps(encode(dict(meta)), allow_nan=False, separators=(",", ":"))
    except (ValueError, RecursionError) as error:
        raise failure(folder, f"the meta cannot be stored ({error})", "Keep it to plain, finite nesting") from error
    copies: dict[str, Tensor] = {}
    try:
        for name, tensor in tensors.items():
            if not isinstance(name, str) or name == "__metadata__":
                raise TypeError(f"the name {name!r} is not a string other than '__metadata__'")
            if not isinstance(tensor, Tensor) or tensor.layout != torch.strided or tensor.is_meta:
                raise TypeError(f"{name!r} is not a dense tensor with values")
            plain = tensor.detach().resolve_conj().resolve_neg()
            copies[name] = plain.to("cpu", copy=True, memory_format=torch.contiguous_format)
        # One entry, since several would be written in no fixed order: its name has the schema, from the second on.
        schema = newest(CHECKPOINTS)
        name = HEADER_KEY if schema == 1 else f"{HEADER_KEY}/{schema}"
        data = safetensors.torch.save(copies, metadata={name: text})
    except Exception as error:
        reason = f"the tensors cannot be stored ({type(error).__name__}: {error})"
        raise failure(folder, reason, "Give dense tensors of a usual dtype, under string names") from error
    try:
        _header(data)
    except ValueError as error:
        raise failure(folder, f"the meta is too large: {error}", "Store bulky values as tensors") from error
    return data


def _parse(data: bytes) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and meta from verified bytes. A digest proves integrity, not good faith, so all is still checked."""
    try:
        ((name, text),) = json.loads(_header(data))["__metadata__"].items()
        title, _, schema = name.partition("/")
        meta = decode(parse_object(text))
        if title != HEADER_KEY or not isinstance(meta, dict):
            raise ValueError("its meta is not a dict under the library's name")
        return migrated((safetensors.torch.load(data), meta), int(schema or 1), CHECKPOINTS)
    except Newer:
        raise
    except Exception as error:
        raise Unreadable(f"it is not a softground checkpoint ({type(error).__name__}: {error})") from error


def _header(data: bytes) -> bytes:
    """The header of a safetensors file, within bounds: what it says is believed before anything of it is built."""
    length = int.from_bytes(data[:8], "little")
    if length > HEADER_LIMIT:
        raise ValueError(f"a header of {length} bytes; at most {HEADER_LIMIT} are read")
    header = data[8 : 8 + length]
    if count_values(header) > VALUES_LIMIT:
        raise ValueError(f"a header of more than {VALUES_LIMIT} values")
    return header


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _verified(folder: Path, entry: Entry) -> bytes:
    """The file's bytes, once their number and their digest agree with the pointer."""
    if entry.size > memory_size():
        raise Unreadable(f"it is to have {entry.size} bytes, which is more than this machine's memory")
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


def _previous(folder: Path, entry: Entry) -> Entry:
    """The checkpoint before the current one, by the spare pointer where the ``entry`` of the pointer leads nowhere."""
    spare = pointer.read_spare(folder)
    lost = spare not in (None, entry) and not _is_intact(folder, entry)
    return spare if lost and spare is not None else entry


def _newest_intact(folder: Path) -> Entry | None:
    """The checkpoint to keep beside a new one: a damaged file must not push out the last good one."""
    known: list[Entry | None] = []
    lost: Unreadable | None = None
    try:
        known += pointer.read(folder)
    except Newer as error:  # never overwritten
        raise _pointless(folder, error, None) from error
    except Unreadable as error:
        known, lost = [pointer.read_spare(folder)], error
    kept = next((entry for entry in known if entry and _is_intact(folder, entry)), None)
    if kept is None and lost is not None and not isinstance(lost, Missing):
        raise _pointless(folder, lost, None) from lost
    return kept


def _tidy(folder: Path, keep: set[str]) -> None:
    """Remove older checkpoints and what crashes left behind. A failure here costs only disk space."""
    with suppress(OSError):
        for path in folder.iterdir():
            name = path.name.removeprefix(".").removesuffix(".tmp")
            if pointer.number(name) is None or path.name in keep:
                continue
            if path.name in (name, temporary(Path(name)).name):
                path.unlink(missing_ok=True)


__all__ = ["exists", "load", "pack_optimizer", "save", "unpack_optimizer"]
