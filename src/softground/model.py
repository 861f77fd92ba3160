"""A trained network to keep: its layers, what its outputs mean, and the rule if it can be

One folder holds it::

    model.json           the network's layers, the space of symbols, the rule's kind, versions, and the digest below
    model.safetensors    weights, and the tables of the rule

There are no pickles in it, and nothing of the training data. It can be moved, and loaded on any device.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from inspect import signature
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from . import __version__
from .data.inputs import Inputs
from .errors import CheckpointError
from .files import (
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
from .inverses.records import RECORDED, record
from .learner.device import chosen_device
from .learner.prediction import Reader
from .networks import blueprint
from .notebook import as_html, network_facts, task_facts
from .reals.gaussian import Gaussian
from .retired import Retired
from .runs.checkpoint import digest, pack, part, unpack
from .runs.codec import decode, encode
from .spaces.categorical import Categorical
from .task import Family, Shape, Task

FORMAT = 1
DOCUMENT, TENSORS = "model.json", "model.safetensors"
SPACES: dict[str, type[Categorical] | type[Gaussian]] = {"categorical": Categorical, "gaussian": Gaussian}


@dataclass(eq=False)
class Model(Reader):
    """A network that reads symbols.

    Parameters
    ----------
    network
        A module from a batch of inputs to the outputs that ``space`` reads. Predictions never change it: if it is in
        training mode or on another device, they use a copy.
    space, task, device
        The symbol vectors; the rule, which constraints and evaluation need; the device for predictions. For a family of
        tasks, the spaces by shape, and the family.
    shape, dtype
        Shape and type of one input, if known; an export needs them. For a family, by the examples' shape.
    name, note
        The task's name, and a remark.
    extra
        Further facts to be saved: None, numbers, texts, lists, tuples, dicts.
    seen
        Figures of the training inputs, if known (:mod:`softground.data.inputs`); for a family, by shape.
    """

    network: nn.Module
    space: Any
    task: Task | Family | None = None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    shape: Any = None
    dtype: torch.dtype | None = None
    name: str = "task"
    note: str = ""
    extra: Json = field(default_factory=dict)
    seen: Any = None

    def _repr_html_(self) -> str:
        known = {"task": self.name} if self.task is None else task_facts(self.task)
        return as_html("Model", known | network_facts(self.network))

    def __repr__(self) -> str:
        return f"Model({self.name!r}, {type(self.network).__name__} on {self.device})"

    def save(self, path: Path | str) -> None:
        """Write the model into the folder ``path``, for :func:`load`. A model already there is replaced."""
        tensors = {f"network/{name}": value for name, value in self.network.state_dict().items()}
        document: Json = {
            "task": self.name,
            "note": self.note,
            "network": blueprint.describe(self.network),
            "class": type(self.network).__qualname__,
            "extra": self.extra,
        }
        if not isinstance(self.space, Mapping):
            document |= self._facts("rule", tensors)
        else:
            document["family"] = [
                {"shape": shape} | self.of(shape)._facts(f"rules/{number}", tensors)
                for number, shape in enumerate(self.space)
            ]
        write_model(Path(path), document, tensors)

    def _facts(self, key: str, tensors: dict[str, Tensor]) -> Json:
        """Space, rule and inputs of one task; the rule's tables go to the ``tensors``, under ``key``."""
        kept = None if self.task is None else record(self.task.inverse)  # type: ignore[union-attr]
        facts = writable(kept[0]) if kept else None
        tensors |= {f"{key}/{name}": value for name, value in (kept[1] if kept and facts else {}).items()}
        shape = None if self.shape is None else {"shape": list(self.shape), "dtype": str(self.dtype).split(".")[-1]}
        seen = None if self.seen is None else self.seen.facts()
        return {"space": space_facts(self.space), "rule": facts, "input": shape, "seen": seen}

    def of(self, shape: Shape) -> Model:
        """The model for one shape of a family: the same network, with that shape's space and task."""
        task = self.task[shape] if isinstance(self.task, Family) else None
        space = self.space[shape] if task is None else task.space
        return replace(
            self, space=space, task=task, shape=(self.shape or {}).get(shape), seen=(self.seen or {}).get(shape)
        )


def load(
    path: Path | str,
    *,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    network: nn.Module | None = None,
    task: Task | Family | None = None,
) -> Model:
    """Load a model that :meth:`Model.save` wrote.

    Parameters
    ----------
    path
        The folder.
    device
        The device for predictions.
    network
        A module of the same kind, for a network of unknown layers; its weights are replaced.
    task
        The rule, if it was not saved, or to replace the saved one.
    """
    folder, place = Path(path), chosen_device(device)
    document, tensors = read_model(folder)
    try:
        shape: Any
        space: Any
        if "family" in document:
            space, task, shape, dtype = _family(document, tensors, task)
            seen: Any = {entry["shape"]: Inputs.read(entry.get("seen")) for entry in document["family"]}
        else:
            space, task = _space_and_task(document, part(tensors, "rule"), document["task"], task)
            shape, dtype = _input(document["input"])
            seen = Inputs.read(document.get("seen"))
        weights, built = part(tensors, "network"), network
        if network is not None:
            network.load_state_dict(weights)
        elif document["network"] is not None:
            built = blueprint.build(document["network"], weights)
        name, note, extra = str(document["task"]), str(document["note"]), dict(document["extra"])
    except Retired as error:
        raise failure(folder, str(error).rstrip("."), f"Use softground {document['version']} for it") from error
    except CheckpointError as error:
        raise failure(folder, str(error).rstrip("."), "Give what fits, or leave it out") from error
    except (*blueprint.MISFITS, RecursionError) as error:
        reason = f"it does not fit together ({type(error).__name__}: {error})"
        raise failure(folder / DOCUMENT, reason, "Check the network or task given, or save the model again") from error
    if built is None:
        raise failure(
            folder / DOCUMENT,
            f"its network is a {document['class']}, a class that is not the library's, of which only weights are saved",
            "Make the module yourself and give it: softground.load(path, network=…)",
        )
    built.to(place).to(memory_format=torch.channels_last).eval()  # type: ignore[call-overload]
    return Model(built, space, task, place, shape, dtype, name, note, extra, seen)


def _space_and_task(
    found: Mapping[str, Any], tables: dict[str, Tensor], name: str, given: Task | Family | None
) -> tuple[Any, Task | None]:
    """The space, and the given task or the saved one."""
    if given is None:
        space = make_space(found["space"])
        if found["rule"] is None:
            return space, None
        inverse = RECORDED[found["rule"]["kind"]](space, found["rule"], tables)
        return space, Task(space, inverse.constraint, inverse, name=name)
    if not isinstance(given, Task):
        raise CheckpointError(f"{given} was given; the model was saved with one task.")
    if not same_space(found["space"], given.space):
        raise CheckpointError(f"The task given has the space {given.space!r}; the model was saved with another.")
    return given.space, given


def _family(
    document: Mapping[str, Any], tensors: dict[str, Tensor], given: Task | Family | None
) -> tuple[dict[Any, Any], Family | None, dict[Any, Any], torch.dtype | None]:
    """The spaces by shape, the family, and shape and type of one input of each shape."""
    if isinstance(given, Task):
        raise CheckpointError("One task was given; the model was saved with a family of tasks. Give a Family.")
    found = [(entry["shape"], entry, part(tensors, f"rules/{n}")) for n, entry in enumerate(document["family"])]
    made = {s: _space_and_task(f, tables, document["task"], given and given[s]) for s, f, tables in found}
    tasks = {shape: task for shape, (_, task) in made.items() if task is not None}
    family = given or (Family(tasks) if len(tasks) == len(made) else None)
    inputs = {shape: _input(entry["input"]) for shape, entry, _ in found}
    dtype = next(iter(inputs.values()))[1]
    return {shape: space for shape, (space, _) in made.items()}, family, {s: i[0] for s, i in inputs.items()}, dtype


def _input(found: Mapping[str, Any] | None) -> tuple[tuple[int, ...] | None, torch.dtype | None]:
    if found is None:
        return None, None
    dtype = getattr(torch, str(found["dtype"]))
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"{found['dtype']!r} is not a type of number")
    return tuple(int(side) for side in found["shape"]), dtype


def write_model(folder: Path, document: Mapping[str, object], tensors: Mapping[str, Tensor]) -> None:
    """Write both into ``folder``, replacing an earlier model."""
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


def read_model(folder: Path) -> tuple[Json, dict[str, Tensor]]:
    """Read the document and the tensors, and check the digest; raises CheckpointError."""
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


def space_facts(space: object) -> Json | None:
    """The space by its kind and arguments; None for a user's own class."""
    for name, kind in SPACES.items():
        if type(space) is kind:
            arguments = {
                argument: _listed(argument, getattr(space, argument)) for argument in signature(kind).parameters
            }
            return writable({"kind": name} | arguments)
    return None


def same_space(found: Mapping[str, object] | None, space: object) -> bool:
    """Whether a saved space equals this one; entries missing in an older file had the default."""
    return found is None or space_facts(make_space(found)) == space_facts(space)


def writable(facts: Json | None) -> Json | None:
    """The facts, if JSON can hold them; symbols may be any hashable objects."""
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
