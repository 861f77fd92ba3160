"""The identity of a run in ``config.json``: settings, data and rule; and its differences from another run.

A part of a run is described by its class and by the constructor's parameters that it keeps under their names (for a
dataclass: its fields, except those with ``repr=False``), a function by its name, a network by its structure, an
optimiser by the settings that all its parameters share, an array by a digest.

>>> from softground.schedules import Exponential
>>> describe(Exponential(1.0, 0.9))
{'class': 'Exponential', 'start': 1.0, 'alpha': 0.9, 'floor': 0.02, 'warmup': 0}

Data are identified by digests, each process's share by its own. If a data set is read item by item, only its first and
its last input count, or no input if two readings differ, because then the data set draws at random. A rule is
identified by its verdicts on some states: pseudo-random ones with the first answers, and known symbols, unchanged and
with one site changed, with their own answers.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from ..constraints.base import Constraint
from ..data.gathered import Gathered
from ..dice import untouched
from ..errors import CheckpointError, SoftgroundError
from ..files import Json
from ..retired import effective
from ..runs.folder import RunFolder, environment, plain
from ..spaces.base import Space
from ..task import Shape, Task
from .datasets import Batches, Part, tasks_of
from .device import everyone, tensor_cores
from .open_choices import deciding
from .plan import Plan
from .stage import make_optimizer

if TYPE_CHECKING:
    from lightning_fabric import Fabric

STATES, ANSWERS, KNOWN = 256, 8, 32  # numbers used to identify a rule
SHOWN = 80  # characters of a value in a message
ROWS = 2**12  # rows digested at a time, so that a GPU's tensor is never copied as a whole


def settings(learner: Plan) -> Json:
    """Describe everything that determines training, except the data and the rule."""
    tasks = tasks_of(learner.task)

    def each(values: Mapping[Shape, object]) -> object:
        """Describe the values of a family by shape."""
        found = {str(shape): describe(value) for shape, value in values.items()}
        return found["None"] if None in values else found

    cores, processes = tensor_cores(learner.fabric.device), learner.fabric.world_size
    return {
        **learner.settings.described(),
        "augment": describe(learner.augment),
        "precision": learner.precision,
        "network": describe(learner.network),
        "space": each({shape: made_with(task.space) for shape, task in tasks.items()}),
        "inverse": each({shape: describe(task.inverse) for shape, task in tasks.items()}),
        "stages": {
            stage.name: {
                "number": number,
                "objective": each({shape: stages[number].objective for shape, stages in learner.staged.items()}),
                "epochs": stage.epochs,
                "optimizer": describe(make_optimizer(stage, learner.network.parameters())),
                "learning_rate": describe(stage.learning_rate),
                "keep": stage.keep,
                "patience": stage.patience,
                "batch_size": stage.batch_size,
            }
            | ({"terms": describe(list(stage.terms))} if stage.terms else {})
            | ({"wait": stage.wait} if stage.wait else {})
            | ({"scaled": stage.scaled} if stage.scaled else {})
            for number, stage in enumerate(learner.stages)
        },
        **({"tensor_cores": cores} if cores else {}),
        **({"processes": processes} if processes > 1 else {}),
    }


def describe(value: object) -> Any:
    """Describe ``value`` as JSON: plain values unchanged, other objects by class and parameters."""
    name = type(value).__qualname__
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case np.generic():
            return describe(value.item())
        case np.ndarray() if value.dtype != object:
            return describe(torch.from_numpy(np.ascontiguousarray(value)))
        case Tensor():
            return {"shape": list(value.shape), "sha256": tensor_digest(value)[:16]}
        case Mapping():
            return {str(key): describe(one) for key, one in value.items()}
        case list() | tuple() | range():
            return [describe(one) for one in value]
        case set() | frozenset():
            return sorted((describe(one) for one in value), key=repr)
        case Space() | Constraint():
            return name
        case nn.Module():
            weights = sum(p.numel() for p in value.parameters() if not is_lazy(p))
            return {"class": name, "parameters": weights, "structure": str(value)}
        case Optimizer():  # without disabled settings, because a newer torch may add some
            on = {n: v for n, v in value.defaults.items() if v is not None and v is not False}
            return {"class": name} | describe(on)
    if isinstance(value, type) or inspect.isroutine(value):
        return value.__qualname__
    kept = made_with(value) if hasattr(value, "__dict__") else {}
    return repr(value) if len(kept) < 2 and type(value).__repr__ is not object.__repr__ else kept


def made_with(value: object) -> Json:
    """An object's class and the constructor's parameters that it keeps under their names."""
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value) if f.init and f.repr]
    else:
        names = list(inspect.signature(type(value)).parameters)
    return {"class": type(value).__qualname__} | {n: describe(v) for n, v in vars(value).items() if n in names}


def config_of(learner: Plan, train: list[Part], validation: list[Part] | None = None) -> Json:
    """The content of ``config.json``."""
    found = environment()
    rules = {str(part.shape): rule_digest(part.task, part.data.first(KNOWN)) for part in train}
    digests = partial(all_digests, fabric=learner.fabric)
    return {
        "version": found["softground"],
        "task": learner.task.name,
        "recipe": plain(learner.recipe),
        "place": plain(learner.place),
        "settings": settings(learner),
        "choice": plain(deciding(learner.choice_)),
        "chosen": plain(learner.choice_),
        **({"grounding": plain(learner.grounding_)} if learner.grounding_ else {}),
        "data": digests(train),
        "validation": validation and digests(validation),  # determines when a stage ends, and its best network
        "rule": rules if train[0].shape is not None else rules["None"],
        "environment": found,
    }


def all_digests(parts: list[Part], fabric: Fabric) -> Json:
    """The digests of a data set, for a family by shape. All processes must call this."""
    if parts[0].shape is None:
        return data_digests(parts[0].data, fabric)
    return {"examples": sum(part.data.total for part in parts)} | {
        "shapes": {str(part.shape): data_digests(part.data, fabric) for part in parts}
    }


def data_digests(data: Batches, fabric: Fabric) -> Json:
    """A data set's number of examples, and digests of their inputs, answers and labels."""

    def whole(found: str) -> str:
        """The digest of all processes' shares."""
        return (found if len(data) == data.total else _digest(everyone(fabric, found)))[:16]

    def rows(column: Tensor | None) -> str | None:
        return None if column is None else whole(tensor_digest(column))

    places = data.at(torch.arange(len(data), device=data.device))
    pool = [tensor_digest(data.inputs.pool)] if isinstance(data.inputs, Gathered) else []
    held = data.inputs.index if isinstance(data.inputs, Gathered) else data.inputs
    return {
        "examples": data.total,
        "read": "item by item: the first and the last input" if held is None else "as a whole",
        "inputs": _items(data) if held is None else [*pool, rows(held)],
        "answers": whole(_digest([data.answers, places.tolist()])),
        "symbols": rows(data.symbols),
        "known": rows(data.known),
        "anchors": None if data.anchors is None else describe(data.anchors),
    }


def rule_digest(task: Task, data: Batches) -> str | None:
    """A digest of the rule's verdicts on some states; None if it is not defined on all of them."""
    space, rule, chance, device = task.space, task.constraint, torch.Generator().manual_seed(0), data.device
    try:
        y = rule.encode(data.answers[:KNOWN]).to(device)
        answers = y[torch.arange(STATES) % min(ANSWERS, len(y))]
        judged = [rule.feasible(space.random(STATES, chance).to(device), answers)]
        if data.symbols is not None:
            known = data.symbols[:KNOWN]
            site = torch.randint(space.sites, (len(known), 1), generator=chance)
            drawn = space.random(len(known), chance).gather(1, site)
            other = known.scatter(1, site.to(device), drawn.to(device, known.dtype))
            judged += [rule.feasible(known, y), rule.feasible(other, y)]
    except SoftgroundError:  # a rule may be defined only on the states that its inverse proposes
        return None
    return tensor_digest(torch.cat(judged))


def refuse_another(folder: RunFolder, config: Mapping[str, Any]) -> None:
    """Raise :class:`CheckpointError` if a run is not the one in the folder; name all differences."""
    then, now = folder.read_config(), config
    found = [*_differences(effective(then.get("recipe")), now["recipe"], "recipe")]
    found += _differences(then.get("settings"), now["settings"], "")
    found += _other_data(then.get("data"), now["data"])
    if not found and then.get("validation") != now["validation"]:
        found = ["the validation part has changed"]
    if not found and then.get("rule") != now["rule"]:  # with other data its digest would differ anyway
        found = ["the rule has changed: it judges some states differently"]
    if not found:
        return
    versions = then.get("version"), now["version"]
    if versions[0] != versions[1]:
        found.append(f"(the run was started by softground {_shown(versions[0])}, this is {versions[1]})")
    raise CheckpointError(
        f"The run in {folder.path} is not this one: {'; '.join(found)}. Resume with the settings and data the run was "
        "started with, or start a new run."
    )


def refuse_other_processes(folder: RunFolder, now: int, saved: int | None = None) -> None:
    """Raise :class:`CheckpointError` unless the run had ``now`` processes; all processes call this."""
    kept = folder.read_config().get("settings") if saved is None else {"processes": saved}
    then = kept.get("processes", 1) if isinstance(kept, dict) else 1
    if then != now:
        raise CheckpointError(
            f"The run in {folder.path} was trained by {then} process(es), and this is one of {now}. Resume it with "
            f"{then}, as in torchrun --nproc-per-node {then}, or start a new run."
        )


def _items(data: Batches) -> str | None:
    """A digest of the first and the last input of a data set read item by item; None if two readings differ."""

    def read() -> str:
        with untouched():
            ends = [Batches(data._data, data.device, rows=range(i, i + 1)) for i in (0, data.total - 1)]
            return _digest([describe(end.pair(0)[0]) for end in ends])

    found = read()
    return found if found == read() else None


def tensor_digest(value: Tensor) -> str:
    """SHA-256 of a tensor's dtype, shape and numbers, on any device.

    >>> tensor_digest(torch.zeros(2)) == tensor_digest(torch.zeros(2).clone()) != tensor_digest(torch.zeros(2, 1))
    True
    """
    found = hashlib.sha256(f"{value.dtype} {list(value.shape)}".encode())
    rows = value.detach().reshape(len(value) if value.dim() else 1, -1)
    for start in range(0, len(rows), ROWS):
        part = rows[start : start + ROWS].resolve_conj().cpu().contiguous()
        found.update(part.flatten().view(torch.uint8).numpy().data)
    return found.hexdigest()


def _digest(values: Sequence[object]) -> str:
    """A digest of answers, the same for 7, 7.0 and ``np.int64(7)``."""
    plain = [int(v) if isinstance(v, float | np.floating) and v.is_integer() else v for v in values]
    return hashlib.sha256(json.dumps(plain, default=describe).encode()).hexdigest()


def _other_data(then: object, now: Mapping[str, Any]) -> list[str]:
    then = then if isinstance(then, dict) else {}
    if then.get("examples") != now["examples"]:
        return [f"the training examples were {_shown(then.get('examples'))}, are {now['examples']}"]
    if "shapes" in now or "shapes" in then:
        old, new = then.get("shapes"), now.get("shapes", {})
        old = old if isinstance(old, dict) else {}
        changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        return [f"the training examples of shape {name} have changed" for name in changed]
    names = {"inputs": "training inputs", "answers": "training answers", "symbols": "true symbols"}
    names |= {"known": "known symbols", "anchors": "anchors"}
    return [f"the {text} have changed" for name, text in names.items() if then.get(name) != now[name]]


def _differences(then: object, now: object, path: str) -> Iterator[str]:
    """Yield each difference of two JSON values, as a clause."""
    if isinstance(then, dict) and isinstance(now, dict) and then.get("class") == now.get("class"):
        for name in [*then, *(name for name in now if name not in then)]:
            yield from _differences(then.get(name), now.get(name), f"{path}.{name}".lstrip("."))
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for number, (old, new) in enumerate(zip(then, now, strict=True)):
            yield from _differences(old, new, f"{path}.{number}")
    elif then != now:
        yield f"{path} was {_shown(then)}, is {_shown(now)}"


def _shown(value: object) -> str:
    """Show a value, or the class of a described object, in a few printable characters."""
    if value is None:
        return "not set"
    text = str(value["class"] if isinstance(value, dict) and "class" in value else value)
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
