"""What the checkpoints of a run folder hold, for whoever reads them: the training loop, reports, the command line."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor

from ..errors import CheckpointError
from ..files import failure
from ..runs.checkpoint import load_part, one_is_missing, part
from ..runs.folder import RunFolder
from ..training.step import CHAINS

State = tuple[dict[str, Tensor], dict[str, Any]]
NETWORK, OPTIMIZER, MEMORY, BEST, RANDOM = "network", "optimizer", "objective", "best", "random"
STATE = 1  # the number of what a run remembers: 0 in softground 0.3.0. A change to it needs the next number.


def network_of(folder: RunFolder, previous: bool = False) -> dict[str, Tensor]:
    """The network's state in a run's checkpoint, or in the one before it."""
    return part(read(folder, previous)[0], NETWORK)


def chains_of(folder: RunFolder, shape: Any = None) -> Tensor | None:
    """The chains in a run's checkpoint, of one shape: those of its last stage that has any."""
    if not folder.has_checkpoint():
        return None
    (tensors, meta), name = read(folder), CHAINS if shape is None else f"{shape}/{CHAINS}"
    found = part(tensors, MEMORY)
    stages = [int(stage) for key in found for stage, _, rest in [key.partition("/")] if rest == name]
    if not stages:
        return None
    saved, files = files_of(folder, tensors, meta)
    each = [tensors[f"{MEMORY}/{max(stages)}/{name}"] for _, tensors in files]
    whole = each[0].new_empty(sum(map(len, each)), *each[0].shape[1:])
    for rank, rows in enumerate(each):
        whole[rank::saved] = rows
    return whole


def read(folder: RunFolder, previous: bool = False) -> State:
    """A checkpoint. Warns if the newest one is gone."""
    tensors, meta = folder.load_checkpoint(previous)
    records = meta.get("records")
    if one_is_missing(folder.path) and isinstance(records, int) and len(folder.read_metrics()) > records:
        warnings.warn(
            f"{folder.path}: the newest checkpoint is missing. The one before it is used instead, which was saved "
            f"after {place_of(meta)}.",
            stacklevel=2,
        )
    return tensors, meta


def refuse_older(folder: RunFolder, meta: Mapping[str, Any]) -> None:
    """Refuse a checkpoint that remembers other things, by its ``meta``."""
    if meta.get("state", 0) != STATE:
        version = str(folder.read_config().get("version"))[:40]
        raise CheckpointError(
            f"softground {version} started the run in {folder.path}, and this version cannot resume it: what a run "
            f"remembers has changed. Resume it with softground {version}, or start a new run."
        )


def files_of(
    folder: RunFolder, tensors: dict[str, Tensor], meta: Mapping[str, Any], only: int | None = None
) -> tuple[int, Iterator[tuple[int, dict[str, Tensor]]]]:
    """How many processes saved a checkpoint, and what each did, or one of them alone."""
    parts = meta.get("parts", [])
    names = [None, *parts] if isinstance(parts, list) else []
    if meta.get("world") != len(names):
        reason = f"its checkpoint names {len(names)} parts of {str(meta.get('world'))[:20]} processes"
        raise failure(folder.path, reason, "Restore it from a backup")
    which = range(len(names)) if only is None else [only]
    return len(names), ((rank, load_part(folder.path, names[rank]) if rank else tensors) for rank in which)


def place_of(meta: Mapping[str, Any]) -> str:
    stage = meta.get("stage")
    number = stage + 1 if isinstance(stage, int) else stage
    return f"epoch {str(meta.get('epoch'))[:20]} of stage {str(number)[:20]}"
