"""A trained network to keep: its layers, what its outputs mean, and the rule if it can be saved.

One folder holds it::

    model.json           the network's layers, the space of symbols, the rule's kind, versions, and the digest below
    model.safetensors    weights, and the tables of the rule

There are no pickles in it, and nothing of the training data. It can be moved, and loaded on any device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from . import saved
from .errors import CheckpointError
from .family import Family
from .files import failure
from .inverses.base import RECORDED
from .learner.device import chosen_device
from .learner.prediction import Reader
from .networks import blueprint
from .retired import Retired
from .runs.checkpoint import part
from .task import Task


@dataclass(eq=False)
class Model(Reader):
    """A network that reads symbols.

    Parameters
    ----------
    network
        From a batch of inputs to what ``space`` reads. Predictions never change it: where it is in training mode or on
        another device, they use a copy.
    space, task, device
        The symbol vectors; the rule, without which nothing can be constrained or evaluated; where to predict. For a
        family of tasks the spaces by shape, and the family.
    shape, dtype
        What one input looks like, where known; an export needs it. For a family, by the examples' shape.
    name, note
        The task's name, and anything worth knowing.
    extra
        Further facts to be saved: None, numbers, texts, lists, tuples, dicts.
    """

    network: nn.Module
    space: Any
    task: Task | Family | None = None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    shape: Any = None
    dtype: torch.dtype | None = None
    name: str = "task"
    note: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    def save(self, path: Path | str) -> None:
        """Write the model into the folder ``path``, where :func:`load` finds it. A model that was there is replaced."""
        tensors = {f"network/{name}": value for name, value in self.network.state_dict().items()}
        document: dict[str, Any] = {
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
        saved.write(Path(path), document, tensors)

    def _facts(self, key: str, tensors: dict[str, Tensor]) -> dict[str, Any]:
        """Space, rule and inputs of one task; the rule's tables go to the ``tensors``, under ``key``."""
        kept = None if self.task is None else self.task.inverse.record()  # type: ignore[union-attr]
        facts = saved.writable(kept[0]) if kept else None
        tensors |= {f"{key}/{name}": value for name, value in (kept[1] if kept and facts else {}).items()}
        shape = None if self.shape is None else {"shape": list(self.shape), "dtype": str(self.dtype).split(".")[-1]}
        return {"space": saved.space_facts(self.space), "rule": facts, "input": shape}

    def of(self, shape: Any) -> Model:
        """What reads examples of one shape, for a family: the same network, with that shape's space and task."""
        task = self.task[shape] if isinstance(self.task, Family) else None
        space = self.space[shape] if task is None else task.space
        return replace(self, space=space, task=task, shape=(self.shape or {}).get(shape))


def load(
    path: Path | str,
    *,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    network: nn.Module | None = None,
    task: Task | Family | None = None,
) -> Model:
    """A model that :meth:`Model.save` wrote.

    Parameters
    ----------
    path
        The folder.
    device
        Where it is to predict.
    network
        A module of the same kind, for a network that does not consist of known layers; its weights are replaced.
    task
        The rule, where it could not be saved, or to take the place of what was.
    """
    folder, place = Path(path), chosen_device(device)
    document, tensors = saved.read(folder)
    try:
        shape: Any
        space: Any
        if "family" in document:
            space, task, shape, dtype = _family(document, tensors, task)
        else:
            space, task = _space_and_task(document, part(tensors, "rule"), document["task"], task)
            shape, dtype = _input(document["input"])
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
        raise failure(
            folder / saved.DOCUMENT, reason, "Check the network or task given, or save the model again"
        ) from error
    if built is None:
        raise failure(
            folder / saved.DOCUMENT,
            f"its network is a {document['class']}, a class that is not the library's, of which only weights are saved",
            "Make the module yourself and give it: softground.load(path, network=…)",
        )
    built.to(place).to(memory_format=torch.channels_last).eval()  # type: ignore[call-overload]
    return Model(built, space, task, place, shape, dtype, name, note, extra)


def _space_and_task(
    found: Mapping[str, Any], tables: dict[str, Tensor], name: str, given: Task | Family | None
) -> tuple[Any, Task | None]:
    """The space, and the task that was given or, where it could be saved, kept."""
    if given is None:
        space = saved.make_space(found["space"])
        if found["rule"] is None:
            return space, None
        inverse = RECORDED[found["rule"]["kind"]].rebuild(space, found["rule"], tables)
        return space, Task(space, inverse.constraint, inverse, name=name)
    if not isinstance(given, Task):
        raise CheckpointError(f"{given} was given; the model was saved with one task.")
    if not saved.same_space(found["space"], given.space):
        raise CheckpointError(f"The task given has the space {given.space!r}; the model was saved with another.")
    return given.space, given


def _family(
    document: Mapping[str, Any], tensors: dict[str, Tensor], given: Task | Family | None
) -> tuple[dict[Any, Any], Family | None, dict[Any, Any], torch.dtype | None]:
    """The spaces by shape, the family, and what one input of each shape looks like."""
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
