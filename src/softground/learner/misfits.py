"""What of a checkpoint does not fit a run: a digest shows that it is whole, not that it is this run's, or well meant.

It is named here, by a ValueError, before anything is built on it, instead of failing in the middle of an epoch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from ..task import Task
from .batches import countable
from .stage import Stage

KINDS: dict[str, type | tuple[type, ...]] = {
    "stage": int,
    "epoch": int,
    "world": int,
    "device": str,
    "optimizer": dict,
    "best_score": (int, float),
    "records": int,
    "results": dict,
    "seconds": (int, float),
    "threads": int,
}
GROUNDED = 64  # chains that are held against the rule
# What optimisers remember of a parameter, number for number.
ALIKE = frozenset({"exp_avg", "exp_avg_sq", "max_exp_avg_sq", "momentum_buffer", "square_avg", "grad_avg", "sum"})


def check_meta(meta: Mapping[str, Any], stages: Sequence[Stage]) -> None:
    """Everything that a run reads from a checkpoint's meta is there, and is a place within these stages."""
    for name, kind in KINDS.items():
        value = meta.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(f"its {name} is {str(value)[:60]!r}")
    stage, epoch = meta["stage"], meta["epoch"]
    if not (0 <= stage < len(stages) and 0 <= epoch <= stages[stage].epochs):
        place = f"epoch {str(epoch)[:20]} of stage {str(stage + 1)[:20]}"
        raise ValueError(f"it was saved after {place}, which this run does not have")
    if not math.isfinite(meta["seconds"]) or meta["seconds"] < 0:
        raise ValueError(f"its seconds are {meta['seconds']}")
    for name, figures in meta["results"].items():
        numbers = figures.values() if isinstance(figures, dict) else [figures]
        if not all(value is None or isinstance(value, int | float) for value in numbers):
            raise ValueError(f"its results of stage {name!r} are not numbers")


def check_memory(state: Mapping[str, Tensor], fresh: Mapping[str, Tensor], examples: int) -> None:
    """An objective's memory: one row per example, like a ``fresh`` one where there is one."""
    for name, value in state.items():
        like = fresh.get(name, value)
        if value.dim() == 0 or len(value) != examples or (value.shape, value.dtype) != (like.shape, like.dtype):
            raise ValueError(f"its {name} are {list(value.shape)} numbers of {value.dtype}")


def check_chains(task: Task, chains: Tensor | None, y: Tensor) -> None:
    """Chains are states of the space, and ground the answers ``y``: under another rule they would not."""
    if chains is None or not task.space.categorical:
        return
    if not countable(chains) or chains.shape[1:] != (task.space.sites,):
        raise ValueError(f"its chains are {list(chains.shape)} numbers of {chains.dtype}")
    if chains.numel() and not 0 <= int(chains.min()) <= int(chains.max()) < task.space.width:
        raise ValueError("its chains hold symbols that there are not")
    if not bool(task.feasible(chains[:GROUNDED], y[:GROUNDED]).all()):
        raise ValueError("its chains do not explain the answers, so the rule is another")


def check_optimizer(loaded: Mapping[str, Any], optimizer: Any) -> None:
    """An optimiser's state has the settings that this run's ``optimizer`` has, and memory of its parameters' shapes."""
    own = optimizer.state_dict()["param_groups"]
    for mine, theirs in zip(own, loaded["param_groups"], strict=True):
        for name, value in mine.items():
            if _kind(theirs[name]) != _kind(value):
                raise ValueError(f"its {name} is {str(theirs[name])[:60]!r}")
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for place, known in loaded["state"].items():
        for name, value in known.items():
            if name in ALIKE and isinstance(value, Tensor) and value.shape != parameters[place].shape:
                raise ValueError(f"its {name} of parameter {place} has shape {list(value.shape)}")


def _kind(value: Any) -> type:
    return float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)
