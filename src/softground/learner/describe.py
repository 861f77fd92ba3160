"""The live parts of a run as plain JSON, the same in every process: what a run folder keeps to compare with later.

An object is described by its class and by what it was made with: a dataclass by its fields (those with ``repr=False``
aside), any other by the parameters of its constructor that it keeps under their names. Functions are described by their
names and by the values they close over, networks by their structure, optimisers by their hyper-parameters, arrays by a
digest. No addresses, no ids, no order of sets.

>>> from softground.schedules import Exponential
>>> describe(Exponential(1.0, 0.9))
{'class': 'Exponential', 'start': 1.0, 'alpha': 0.9, 'floor': 0.02, 'warmup': 0}
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from ..features import FEATURES
from ..runs.digests import tensor_digest
from .device import tensor_cores
from .parts import tasks_of
from .stage import make_optimizer

if TYPE_CHECKING:
    from .learner import Learner

LONG = 400  # characters of a text, or items of a list, that are kept as they are
PROGRESS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)  # where a learning rate's factor is asked for


def settings(learner: Learner) -> dict[str, Any]:
    """Everything that decides how a learner trains, the data and the rule aside."""
    tasks = tasks_of(learner.task)
    parts = {"space": "space", "rule": "constraint", "inverse": "inverse"}
    names = {id(getattr(task, part)): f"the task's {name}" for task in tasks.values() for name, part in parts.items()}

    def told(value: Any) -> Any:
        return describe(value, {i: name for i, name in names.items() if i != id(value)})

    def each(values: Mapping[Any, Any]) -> Any:
        """A description for every shape of a family."""
        found = {str(shape): told(value) for shape, value in values.items()}
        return found["None"] if None in values else found

    cores = tensor_cores(learner.fabric.device)
    return {
        "batch_size": learner.batch_size,
        "seed": learner.seed,
        "evaluate_every": learner.evaluate_every,
        "unexplained": learner.unexplained,
        "augment": told(learner.augment),
        "clip": learner.clip,
        "accumulate": learner.accumulate,
        "precision": learner.precision,
        "network": told(learner.network),
        "space": each({shape: task.space for shape, task in tasks.items()}),
        "inverse": each({shape: task.inverse.described for shape, task in tasks.items()}),
        "stages": {
            stage.name: {
                "number": number,
                "objective": each({shape: stages[number].objective for shape, stages in learner.staged.items()}),
                "epochs": stage.epochs,
                "optimizer": told(make_optimizer(stage, learner.network.parameters())),
                "learning_rate": told(_asked(stage.learning_rate)),
                "keep": stage.keep,
                "patience": stage.patience,
                "batch_size": stage.batch_size,
            }
            | ({"terms": told(list(stage.terms))} if stage.terms else {})
            | ({"wait": stage.wait} if stage.wait else {})
            for number, stage in enumerate(learner.stages)
        },
        **{name: value for name, value in learner.features.items() if value != FEATURES[name].default},
    } | ({"tensor_cores": cores} if cores else {})


def describe(value: Any, names: Mapping[int, str] | None = None) -> Any:
    """``value`` as JSON; objects whose id is in ``names`` are called that."""
    names = names or {}
    if id(value) in names and not isinstance(value, int | str | None):
        return names[id(value)]
    match value:
        case None | bool() | int():
            return value
        case str():
            return _short(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case np.generic():
            return describe(value.item())
        case np.ndarray() if value.dtype != object:
            return describe(torch.from_numpy(np.ascontiguousarray(value)))
        case Tensor() if value.numel() == 1:
            return describe(value.item())
        case Tensor():
            return {"shape": list(value.shape), "sha256": tensor_digest(value)[:16]}
        case type() | torch.dtype() | torch.device():
            return getattr(value, "__qualname__", str(value))
        case nn.Module():
            weights = sum(p.numel() for p in value.parameters() if not is_lazy(p))
            return {"class": type(value).__qualname__, "parameters": weights, "structure": _short(str(value))}
    # From here on a description has parts; one that is met again inside itself has been described already.
    inner = {**names, id(value): "…"}

    def each(parts: Mapping[Any, Any]) -> dict[str, Any]:
        return {str(name): describe(part, inner) for name, part in parts.items()}

    name = type(value).__qualname__
    match value:
        case Mapping():
            return each(value)
        case list() | tuple() | range() if len(value) <= LONG:
            return [describe(part, inner) for part in value]
        case set() | frozenset():
            return sorted((describe(part, inner) for part in value), key=repr)
        case Optimizer():
            groups = [{"parameters": len(group["params"])} | each(_switched_on(group)) for group in value.param_groups]
            return {"class": name} | (groups[0] if len(groups) == 1 else {"groups": groups})
        case functools.partial():
            return {"class": name} | each({"of": value.func, "arguments": value.args} | value.keywords)
    if inspect.isroutine(value):
        kept = _closed_over(value)
        name = getattr(value, "__qualname__", name)
        return {"class": name} | each(kept) if kept else name
    if dataclasses.is_dataclass(value):
        kept = {f.name: getattr(value, f.name, None) for f in dataclasses.fields(value) if f.init and f.repr}
    else:
        kept = _made_with(value)
    if not kept and getattr(type(value), "__repr__", None) is not object.__repr__:
        return _short(repr(value))
    return {"class": name} | each(kept)


def _made_with(value: Any) -> dict[str, Any]:
    """The parameters of an object's constructor that it keeps under their names."""
    try:
        parameters = inspect.signature(type(value)).parameters
    except (TypeError, ValueError):
        return {}
    kept = getattr(value, "__dict__", {})
    return {name: kept[name] for name in parameters if name in kept and not name.startswith("_")}


def _closed_over(function: Any) -> dict[str, Any]:
    """The values that a function closes over, and the object that a method belongs to."""
    owner = getattr(function, "__self__", None)
    of = {"of": owner} if owner is not None and not inspect.ismodule(owner) else {}
    python = inspect.isfunction(function) or inspect.ismethod(function)
    return dict(inspect.getclosurevars(function).nonlocals if python else {}) | of


def _switched_on(group: Mapping[str, Any]) -> dict[str, Any]:
    """An optimiser's hyper-parameters, those that are off aside: a newer torch may have more of them."""
    return {name: v for name, v in group.items() if name != "params" and v is not None and v is not False}


def _asked(rate: Callable[[float], float] | None) -> Any:
    """A learning rate's factor: a dataclass says what it is, any other function is asked."""
    if rate is None or dataclasses.is_dataclass(rate):
        return rate
    return {"class": type(rate).__qualname__, "at": {progress: rate(progress) for progress in PROGRESS}}


def _short(text: str) -> str:
    """A text without addresses, or the digest of a long one."""
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", text)
    if len(text) <= LONG:
        return text
    return f"{text[:40]}… ({len(text)} characters, sha256 {hashlib.sha256(text.encode()).hexdigest()[:16]})"
