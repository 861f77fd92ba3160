"""Checkpoints without pickle: safetensors files, named by the checkpoint's number and the file's SHA-256.

A folder holds::

    checkpoint-00000007-<sha256>.safetensors    the current checkpoint: tensors, with the meta in the file's header
    checkpoint-00000006-<sha256>.safetensors    the one before it
    part-00000007-1-<sha256>.safetensors        what process 1 of several keeps for checkpoint 7, and so on

A file appears under its name by a rename, once all of it is on disk. So a crash before that leaves the old checkpoint
current, and a crash after it the new one; parts are there before the checkpoint, whose meta names them. The digest is
checked before a byte of the file is parsed, because neither torch nor safetensors notices a flipped bit. A damaged
current checkpoint leaves the previous one.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor

from ..errors import CheckpointError, Setting
from ..files import (
    DOCUMENT_LIMIT,
    Json,
    Unreadable,
    describe,
    failure,
    memory_size,
    parse_object,
    read_bounded,
    replace_file,
)
from .codec import decode, encode

HEADER_KEY = "softground"
NAME = re.compile(r"checkpoint-[0-9]{8,20}-[0-9a-f]{64}\.safetensors")
PART = re.compile(r"part-[0-9]{8,20}-[0-9]{1,9}-[0-9a-f]{64}\.safetensors")


def save(folder: Path, tensors: Mapping[str, Tensor], meta: Mapping[str, object]) -> None:
    """Make ``tensors`` and ``meta`` the folder's current checkpoint, and keep the one before.

    Views, shared and non-contiguous tensors are stored as independent copies; equal states give equal bytes.
    Tuples, infinities and number keys in ``meta`` come back as they were. One process may save at a time.

    Raises :class:`CheckpointError` when something cannot be stored or written; the last checkpoint then still loads.
    """
    folder = Path(folder)
    data = pack(folder, tensors, meta)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = _found(folder)
    except OSError as error:
        raise failure(folder, f"the folder cannot be used: {describe(error)}", "Choose one you may write to") from error
    # A damaged file must not push out the last good one.
    kept = next((path for path in reversed(found) if _is_intact(path)), None)
    new = folder / f"checkpoint-{_following(found):08d}-{digest(data)}.safetensors"
    replace_file(new, data)
    numbers = [_number(path.name) for path in (new, kept) if path is not None]
    with suppress(OSError):  # older ones, and what crashes left behind, cost only disk space
        for path in folder.iterdir():
            name = path.name.removeprefix(".").removesuffix(".tmp")
            old = NAME.fullmatch(name) and path not in (new, kept)
            if old or (PART.fullmatch(name) and _number(name) not in numbers):
                path.unlink(missing_ok=True)


def upcoming(folder: Path) -> int:
    """The number that the next checkpoint will have."""
    return _following(_found(folder))


def save_part(folder: Path, number: int, rank: int, tensors: Mapping[str, Tensor]) -> str:
    """Write process ``rank``'s part of checkpoint ``number``, before the checkpoint; return the file's name."""
    data = pack(folder, tensors, {})
    name = f"part-{number:08d}-{rank}-{digest(data)}.safetensors"
    replace_file(folder / name, data)
    return name


def load_part(folder: Path, name: object) -> dict[str, Tensor]:
    """Load the part that a checkpoint's meta names."""
    if not isinstance(name, str) or not PART.fullmatch(name):
        raise failure(folder, f"its checkpoint names the part {str(name)[:80]!r}", "Restore it from a backup")
    try:
        return unpack(_verified(folder / name))[0]
    except Unreadable as error:
        remedy = "Restore it from a backup, or go on from the checkpoint before, which has its own: "
        raise failure(folder / name, str(error), remedy, Setting("previous", True)) from error


def load(folder: Path, previous: bool = False) -> tuple[dict[str, Tensor], Json]:
    """Load tensors (on the CPU) and meta of the current checkpoint, or of the one before it.

    Raises :class:`CheckpointError` when there is none, or it is damaged in any way.
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
    path = found[-2 if previous else -1]
    try:
        return unpack(_verified(path))
    except Unreadable as error:
        remedy: tuple[str | Setting, ...] = (
            "No other checkpoint in this folder is intact: restore it from a backup, or start the run again",
        )
        if any(_is_intact(other) for other in found[-2:] if other != path):
            remedy = (
                f"The {'current' if previous else 'previous'} checkpoint is intact: use ",
                Setting("previous", not previous),
            )
        raise failure(path, str(error), *remedy) from error


def exists(folder: Path) -> bool:
    """Whether a checkpoint was ever completed in ``folder`` (it may still prove damaged)."""
    return bool(_found(folder))


def one_is_missing(folder: Path) -> bool:
    """Whether one of the two latest checkpoints is missing."""
    found = _found(folder)
    return len(found) == 1 and _number(found[0].name) > 1


def pack(path: Path, tensors: Mapping[str, Tensor], meta: Mapping[str, object]) -> bytes:
    """The bytes of a safetensors file. The meta is in its header, so one digest covers both; ``path`` is for errors."""
    try:
        text = json.dumps(encode(dict(meta)), allow_nan=False, separators=(",", ":"))
        copies = {}
        for name, tensor in tensors.items():
            plain = tensor.detach().resolve_conj().resolve_neg()
            copies[name] = plain.to("cpu", copy=True, memory_format=torch.contiguous_format)
        data = safetensors.torch.save(copies, metadata={HEADER_KEY: text})
        _header(data)
    except CheckpointError:
        raise
    except Exception as error:
        reason = f"tensors or meta cannot be stored ({type(error).__name__}: {error})"
        remedy = "Give dense tensors of a usual dtype under string names, and store bulky values as tensors"
        raise failure(path, reason, remedy) from error
    return data


def unpack(data: bytes) -> tuple[dict[str, Tensor], Json]:
    """Tensors and meta from verified bytes. A digest proves integrity, not good faith, so all is still checked."""
    try:
        meta = decode(parse_object(json.loads(_header(data))["__metadata__"][HEADER_KEY]))
        if not isinstance(meta, dict):
            raise ValueError("its meta is not a dict")
        return safetensors.torch.load(data), meta
    except Exception as error:
        raise Unreadable(f"it is not a softground checkpoint or model ({type(error).__name__}: {error})") from error


def part(tensors: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    """The tensors named ``name/…``, without this prefix."""
    return {key.removeprefix(f"{name}/"): value for key, value in tensors.items() if key.startswith(f"{name}/")}


def _found(folder: Path) -> list[Path]:
    """The folder's checkpoints, the newest last."""
    paths = folder.iterdir() if folder.is_dir() else ()
    return sorted(
        (path for path in paths if NAME.fullmatch(path.name)), key=lambda path: (_number(path.name), path.name)
    )


def _number(name: str) -> int:
    return int(name.split("-")[1])


def _following(found: list[Path]) -> int:
    return _number(found[-1].name) + 1 if found else 1


def _header(data: bytes) -> bytes:
    """The header of a safetensors file, if it is of a size that is read."""
    length = int.from_bytes(data[:8], "little")
    if length > DOCUMENT_LIMIT:
        raise ValueError(f"a header of {length} bytes; at most {DOCUMENT_LIMIT} are read")
    return data[8 : 8 + length]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _verified(path: Path) -> bytes:
    """The file's bytes, once their digest agrees with its name."""
    data = read_bounded(path, memory_size())
    if digest(data) not in path.name:
        raise Unreadable("its SHA-256 is not the one in its name: it is damaged or was changed")
    return data


def _is_intact(path: Path) -> bool:
    try:
        return bool(_verified(path))
    except Unreadable:
        return False
