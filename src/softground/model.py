"""A trained network to keep: its layers, what its outputs mean, and the rule if it can be saved.

One folder holds it::

    model.json           the network's layers, the space of symbols, the rule's kind, versions, and the digest below
    model.safetensors    weights, and the tables of the rule

There are no pickles in it, and nothing of the training data. It can be moved, and loaded on any device.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from . import saved
from .errors import CheckpointError
from .files import failure
from .inverses.base import RECORDED
from .learner.device import chosen_device
from .learner.reading import Reader
from .networks import blueprint
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
        The symbol vectors; the rule, without which nothing can be constrained or evaluated; where to predict.
    shape, dtype
        What one input looks like, where known; an export needs it.
    name, note
        The task's name, and anything worth knowing.
    extra
        Further facts to be saved: None, numbers, texts, lists, tuples, dicts.
    """

    network: nn.Module
    space: Any
    task: Task | None = None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    shape: tuple[int, ...] | None = None
    dtype: torch.dtype | None = None
    name: str = "task"
    note: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    def save(self, path: Path | str) -> None:
        """Write the model into the folder ``path``, where :func:`load` finds it. A model that was there is replaced."""
        kept = None if self.task is None else self.task.inverse.record()
        space, facts = saved.space_facts(self.space), saved.writable(kept[0]) if kept else None
        tables = kept[1] if kept and facts else {}
        tensors = {f"network/{name}": value for name, value in self.network.state_dict().items()}
        tensors |= {f"rule/{name}": value for name, value in tables.items()}
        shape = None if self.shape is None else {"shape": list(self.shape), "dtype": str(self.dtype).split(".")[-1]}
        document = {
            "task": self.name,
            "note": self.note,
            "network": blueprint.describe(self.network),
            "class": type(self.network).__qualname__,
            "space": space,
            "rule": facts,
            "input": shape,
            "extra": self.extra,
        }
        saved.write(Path(path), document, tensors)


def load(
    path: Path | str,
    *,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    network: nn.Module | None = None,
    task: Task | None = None,
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
        if task is not None and not saved.same_space(document["space"], task.space):
            raise CheckpointError(f"The task given has the space {task.space!r}; the model was saved with another.")
        space = task.space if task is not None else saved.make_space(document["space"])
        if task is None and document["rule"] is not None:
            inverse = RECORDED[document["rule"]["kind"]].rebuild(space, document["rule"], part(tensors, "rule"))
            task = Task(space, inverse.constraint, inverse, name=document["task"])
        weights, built = part(tensors, "network"), network
        if network is not None:
            network.load_state_dict(weights)
        elif document["network"] is not None:
            built = blueprint.build(document["network"], weights)
        shape, dtype = _input(document["input"])
        name, note, extra = str(document["task"]), str(document["note"]), dict(document["extra"])
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


def _input(found: Mapping[str, Any] | None) -> tuple[tuple[int, ...] | None, torch.dtype | None]:
    if found is None:
        return None, None
    dtype = getattr(torch, str(found["dtype"]))
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"{found['dtype']!r} is not a type of number")
    return tuple(int(side) for side in found["shape"]), dtype
