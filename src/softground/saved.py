"""A saved model's two files: a document in JSON, and tensors whose digest stands in it."""

import json
from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from .errors import CheckpointError
from .files import DOCUMENT_LIMIT, Unreadable, describe, failure, memory_size, parse_object, read_bounded, replace_file
from .reals.gaussian import Gaussian
from .runs.checkpoint import digest, pack, unpack
from .runs.codec import decode, encode
from .spaces.categorical import Categorical

FORMAT = 1
DOCUMENT, TENSORS = "model.json", "model.safetensors"
SPACES: dict[str, type[Categorical] | type[Gaussian]] = {"categorical": Categorical, "gaussian": Gaussian}


def write(folder: Path, document: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Write both into ``folder``; what was there is replaced."""
    from . import __version__

    data = pack(folder, tensors, {})
    about = {"softground": "model", "format": FORMAT, "version": __version__, "sha256": digest(data)}
    text = json.dumps(encode(about | dict(document)), allow_nan=False, indent=1).encode()
    if len(text) > DOCUMENT_LIMIT:
        raise failure(folder, f"{len(text)} bytes are too many to read again", "Save Model(network, space) alone")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise failure(folder, f"the folder cannot be used: {describe(error)}", "Choose one you may write to") from error
    replace_file(folder / TENSORS, data)
    replace_file(folder / DOCUMENT, text)


def read(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The document and the tensors, once the digest agrees; raises CheckpointError."""
    try:
        document = decode(parse_object(read_bounded(folder / DOCUMENT, DOCUMENT_LIMIT)))
        if not isinstance(document, dict) or document.get("softground") != "model":
            raise Unreadable("it is not a softground model")
        if document.get("format") != FORMAT:
            written = f"format {document.get('format')!r}, written by softground {document.get('version')!r}"
            raise Unreadable(f"it has {written}; this version reads format {FORMAT}")
    except (Unreadable, ValueError, RecursionError) as error:
        remedy = "Give a folder that Model.save, Learner.save or SoftGrounder.save wrote"
        if (folder / "model" / DOCUMENT).is_file():
            remedy = f"A run keeps its model in a folder of its own: give {folder / 'model'}"
        raise failure(folder / DOCUMENT, str(error), remedy) from error
    try:
        data = read_bounded(folder / TENSORS, memory_size())
        if digest(data) != document.get("sha256"):
            raise Unreadable(f"its SHA-256 is not the one in {DOCUMENT}: it is damaged, or another model's")
        return document, unpack(data)[0]
    except Unreadable as error:
        raise failure(folder / TENSORS, str(error), "Copy both files again, or save the model again") from error


def space_facts(space: Any) -> dict[str, Any] | None:
    """The space by its kind and arguments; None for one of the user's own."""
    for name, kind in SPACES.items():
        if type(space) is kind:
            arguments = {
                argument: _listed(argument, getattr(space, argument)) for argument in signature(kind).parameters
            }
            return writable({"kind": name} | arguments)
    return None


def same_space(found: Mapping[str, Any] | None, space: Any) -> bool:
    """Whether a saved space is this one, as far as that is known; what an older file does not say was the default."""
    return found is None or space_facts(make_space(found)) == space_facts(space)


def writable(facts: dict[str, Any] | None) -> dict[str, Any] | None:
    """The facts, if JSON can hold them; symbols may be anything that can be hashed."""
    try:
        encode(facts)
    except CheckpointError:
        return None
    return facts


def _listed(argument: str, value: Any) -> Any:
    """Alphabets as lists, and numpy's numbers as Python's."""
    if argument == "alphabets":
        return [_listed("symbols", alphabet) for alphabet in value]
    return [s.item() if isinstance(s, np.generic) else s for s in value] if argument == "symbols" else value


def make_space(found: Mapping[str, Any] | None) -> Any:
    if found is None:
        raise CheckpointError("Its space, or a symbol of it, could not be saved: give the task, task=…")
    return SPACES[found["kind"]](**{name: value for name, value in found.items() if name != "kind"})
