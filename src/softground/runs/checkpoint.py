"""Checkpoints without pickle: one safetensors file each, whose name has its number and its SHA-256.

A folder holds::

    checkpoint-00000007-<sha256>.safetensors    the current checkpoint: tensors, with the meta in the file's header
    checkpoint-00000006-<sha256>.safetensors    the one before it

A file appears under its name by a rename, once all of it is on disk. So a crash before that leaves the old checkpoint
current, and a crash after it the new one. The digest is checked before a byte of the file is parsed, because neither
torch nor safetensors notices a flipped bit. A damaged current checkpoint leaves the previous one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from ..files import Unreadable, describe, failure, memory_size, parse_object, read_bounded, replace_file, temporary
from .codec import decode, encode

HEADER_LIMIT = 16 * 2**20
HEADER_KEY = "softground"
NAME = re.compile(r"checkpoint-([0-9]{8,20})-([0-9a-f]{64})\.safetensors")


@dataclass(frozen=True, order=True)
class _File:
    """A checkpoint by its name."""

    number: int
    sha256: str

    @property
    def name(self) -> str:
        return f"checkpoint-{self.number:08d}-{self.sha256}.safetensors"


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
        found = _found(folder)
    except OSError as error:
        raise failure(folder, f"the folder cannot be used: {describe(error)}", "Choose one you may write to") from error
    # A damaged file must not push out the last good one.
    kept = next((file for file in reversed(found) if _is_intact(folder, file)), None)
    new = _File(max((file.number for file in found), default=0) + 1, _digest(data))
    replace_file(folder / new.name, data)
    _tidy(folder, {new, kept})


def load(folder: Path, previous: bool = False) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors (on the CPU) and meta of the current checkpoint, or of the one before it.

    Raises
    ------
    CheckpointError
        When there is none, or it is damaged in any way.
    """
    folder = Path(folder)
    try:
        found = _found(folder)
    except OSError as error:
        raise failure(folder, f"the folder cannot be read: {describe(error)}", "Check the path") from error
    if not found:
        raise failure(folder, "there is no checkpoint in this folder", "Check the path, or train first")
    if previous and len(found) == 1:
        raise failure(folder, "there is no previous checkpoint", "Load the current one")
    file, other = (found[-2], found[-1]) if previous else (found[-1], found[-2] if len(found) > 1 else None)
    try:
        return _parse(_verified(folder, file))
    except Unreadable as error:
        remedy = "No other checkpoint in this folder is intact: restore it from a backup, or start the run again"
        if other is not None and _is_intact(folder, other):
            remedy = f"The {'current' if previous else 'previous'} checkpoint is intact: use previous={not previous}"
        raise failure(folder / file.name, str(error), remedy) from error


def exists(folder: Path) -> bool:
    """Whether a checkpoint was ever completed in ``folder`` (it may still prove damaged)."""
    return bool(_found(Path(folder)))


def _found(folder: Path) -> list[_File]:
    """The folder's checkpoints, the newest last."""
    names = (NAME.fullmatch(path.name) for path in (folder.iterdir() if folder.is_dir() else ()))
    return sorted(_File(int(name[1]), name[2]) for name in names if name)


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
        data = safetensors.torch.save(copies, metadata={HEADER_KEY: text})
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
        meta = decode(parse_object(json.loads(_header(data))["__metadata__"][HEADER_KEY]))
        if not isinstance(meta, dict):
            raise ValueError("its meta is not a dict")
        return safetensors.torch.load(data), meta
    except Exception as error:
        raise Unreadable(f"it is not a softground checkpoint ({type(error).__name__}: {error})") from error


def _header(data: bytes) -> bytes:
    """The header of a safetensors file, within bounds: what it says is believed before anything of it is built."""
    length = int.from_bytes(data[:8], "little")
    if length > HEADER_LIMIT:
        raise ValueError(f"a header of {length} bytes; at most {HEADER_LIMIT} are read")
    return data[8 : 8 + length]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _verified(folder: Path, file: _File) -> bytes:
    """The file's bytes, once their digest agrees with its name."""
    data = read_bounded(folder / file.name, memory_size())
    if _digest(data) != file.sha256:
        raise Unreadable("its SHA-256 is not the one in its name: it is damaged or was changed")
    return data


def _is_intact(folder: Path, file: _File) -> bool:
    try:
        _verified(folder, file)
    except Unreadable:
        return False
    return True


def _tidy(folder: Path, keep: set[_File | None]) -> None:
    """Remove older checkpoints and what crashes left behind. A failure here costs only disk space."""
    names = {file.name for file in keep if file}
    with suppress(OSError):
        for path in folder.iterdir():
            name = path.name.removeprefix(".").removesuffix(".tmp")
            if NAME.fullmatch(name) and path.name not in names and path.name in (name, temporary(Path(name)).name):
                path.unlink(missing_ok=True)
