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

from ..runs.digests import tensor_digest
from .stage import Stage, make_optimizer

if TYPE_CHECKING:
    from .learner import Learner

LONG = 400  # characters of a text, or items of a list, that are kept as they are
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
PROGRESS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)  # where a learning rate's factor is asked for


def settings(learner: Learner) -> dict[str, Any]:
    """Everything that decides how a learner trains, the data and the rule aside."""
    task = learner.task
    parts = {"space": task.space, "rule": task.constraint, "inverse": task.inverse}
    names = {id(part): f"the task's {name}" for name, part in parts.items()}

    def told(value: Any) -> Any:
        return describe(value, {i: name for i, name in names.items() if i != id(value)})

    return {
        "batch_size": learner.batch_size,
        "seed": learner.seed,
        "augment": told(learner.augment),
        "network": told(learner.network),
        "space": told(task.space),
        "inverse": told(task.inverse),
        "stages": {
            stage.name: {
                "number": number,
                "objective": told(stage.objective),
                "epochs": stage.epochs,
                "optimizer": told(make_optimizer(stage, learner.network.parameters())),
                "learning_rate": _rate(stage, told),
                "keep": stage.keep,
            }
            for number, stage in enumerate(learner.stages)
        },
    }


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
        case Tensor() if value.numel() == 1:
            return describe(value.item())
        case Tensor():
            return {"shape": list(value.shape), "sha256": tensor_digest(value)[:16]}
        case np.ndarray():
            return describe(torch.from_numpy(np.ascontiguousarray(value))) if value.dtype != object else _class(value)
        case type() | torch.dtype() | torch.device():
            return ADDRESS.sub("", getattr(value, "__qualname__", str(value)))
        case nn.Module():
            weights = sum(p.numel() for p in value.parameters() if not is_lazy(p))
            return {"class": _class(value), "parameters": weights, "structure": _short(ADDRESS.sub("", str(value)))}
        case Optimizer():
            return _optimizer(value, names)
    # From here on a description has parts; one that is met again inside itself has been described already.
    inner = {**names, id(value): "…"}
    match value:
        case Mapping():
            return {str(key): describe(part, inner) for key, part in value.items()}
        case list() | tuple() | range():
            return (
                [describe(part, inner) for part in value]
                if len(value) <= LONG
                else _short(ADDRESS.sub("", repr(value)))
            )
        case set() | frozenset():
            return sorted((describe(part, inner) for part in value), key=repr)
        case functools.partial():
            return {"class": "partial", "of": describe(value.func, inner), "arguments": describe(value.args, inner)} | {
                name: describe(part, inner) for name, part in value.keywords.items()
            }
    if dataclasses.is_dataclass(value):
        kept = {f.name: getattr(value, f.name, None) for f in dataclasses.fields(value) if f.init and f.repr}
    elif inspect.isroutine(value):
        return _function(value, inner)
    else:
        kept = _made_with(value)
    if not kept and getattr(type(value), "__repr__", None) is not object.__repr__:
        return _short(ADDRESS.sub("", repr(value)))
    return {"class": _class(value)} | {name: describe(part, inner) for name, part in kept.items()}


def _made_with(value: Any) -> dict[str, Any]:
    """The parameters of an object's constructor that it keeps under their names."""
    try:
        parameters = inspect.signature(type(value)).parameters
    except (TypeError, ValueError):
        return {}
    kept = vars(value) if hasattr(value, "__dict__") else {}
    return {name: kept[name] for name in parameters if name in kept}


def _function(value: Any, names: Mapping[int, str]) -> Any:
    name = getattr(value, "__qualname__", type(value).__qualname__)
    code, cells = getattr(value, "__code__", None), getattr(value, "__closure__", None) or ()
    closed: dict[str, Any] = {}
    for variable, cell in zip(code.co_freevars if code else (), cells, strict=True):
        try:
            closed[variable] = describe(cell.cell_contents, names)
        except ValueError:  # not assigned yet
            continue
    owner = getattr(value, "__self__", None)
    of = {"of": describe(owner, names)} if owner is not None and not inspect.ismodule(owner) else {}
    return {"class": name} | closed | of if closed or of else name


def _optimizer(value: Optimizer, names: Mapping[int, str]) -> dict[str, Any]:
    """Hyper-parameters, those that are off aside: a newer torch may have more of them."""
    groups = [
        {"parameters": len(group["params"])}
        | {k: describe(v, names) for k, v in group.items() if k != "params" and v is not None and v is not False}
        for group in value.param_groups
    ]
    return {"class": _class(value)} | (groups[0] if len(groups) == 1 else {"groups": groups})


def _rate(stage: Stage, told: Callable[[Any], Any]) -> Any:
    """A learning rate's factor: a dataclass says what it is, any other function is asked."""
    rate = stage.learning_rate
    if rate is None or dataclasses.is_dataclass(rate):
        return told(rate)
    try:
        return {"class": _class(rate), "at": dict(zip(map(str, PROGRESS), map(told, map(rate, PROGRESS)), strict=True))}
    except (TypeError, ValueError, ArithmeticError):
        return told(rate)


def _class(value: Any) -> str:
    return type(value).__qualname__


def _short(text: str) -> str:
    """A text, or the digest of a long one."""
    if len(text) <= LONG:
        return text
    return f"{text[:40]}… ({len(text)} characters, sha256 {hashlib.sha256(text.encode()).hexdigest()[:16]})"
