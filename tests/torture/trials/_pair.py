"""Two small run folders, as training leaves them, and what it means that one still loads."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from softground.errors import CheckpointError
from softground.runs import RunFolder
from softground.runs.folder import CONFIG_DIGEST, history_digest

State = tuple[dict[str, Tensor], dict[str, Any]]
RECORDS = 3


def record(number: int, seed: int) -> dict[str, Any]:
    """The metrics of an epoch."""
    return {"stage": "I", "epoch": number, "loss": 1 / (number + seed + 3), "gamma": None, "seconds": {"total": 0.5}}


def state(run: RunFolder, epoch: int, seed: int) -> State:
    """What is saved after an epoch."""
    chance = torch.Generator().manual_seed(100 * seed + epoch)
    tensors = {
        "network/weight": torch.randn(8, 12, generator=chance),
        "network/bias": torch.randn(8, generator=chance),
        "objective/0/chains": torch.randint(4, (24, 3), generator=chance),
        "random/torch": torch.randint(256, (1, 64), generator=chance, dtype=torch.uint8),
    }
    history = [record(number, seed) for number in range(epoch)]
    meta = {
        "stage": 0,
        "epoch": epoch,
        "records": epoch,
        "metrics_sha256": reduce(history_digest, history, ""),
        CONFIG_DIGEST: run.config_digest(),
        "results": {},
        "best_score": -1.0,
        "betas": (0.9, 0.999),
    }
    return tensors, meta


def make(path: Path, seed: int) -> tuple[RunFolder, State, State]:
    """A run folder after a few epochs, with its current checkpoint and the one before."""
    run = RunFolder.create(path, "pair")
    run.write_config({"task": "pair", "recipe": {"seed": seed, "learning_rate": 0.003}})
    states = []
    for epoch in range(1, RECORDS + 1):
        run.append(record(epoch - 1, seed))
        states.append(state(run, epoch, seed))
        run.save_checkpoint(*states[-1])
    run.write_summary({"task": "pair", "seed": seed})
    return run, states[-1], states[-2]


def same(found: State, expected: State) -> bool:
    """The same names, types, bits and meta."""
    tensors, others = found[0], expected[0]
    return (
        repr(sorted(found[1].items())) == repr(sorted(expected[1].items()))
        and tensors.keys() == others.keys()
        and all(t.dtype == others[n].dtype and torch.equal(t, others[n]) for n, t in tensors.items())
    )


def resumed(run: RunFolder, previous: bool = False) -> State:
    """What a run that goes on reads, its past included."""
    tensors, meta = run.load_checkpoint(previous)
    run.read_config()
    run.truncate_metrics(meta["records"], meta["metrics_sha256"])
    return tensors, meta


def says_what_to_do(error: CheckpointError, folder: Path) -> bool:
    """Whether a message has the path, the reason and the remedy."""
    return re.fullmatch(rf"{re.escape(str(folder))}[^:]*: [^.].*?\. [A-Z].*\.", str(error), re.DOTALL) is not None


def restore(folder: Path, pristine: Path) -> None:
    """The folder as it was."""
    shutil.rmtree(folder)
    shutil.copytree(pristine, folder)


@contextmanager
def no_waiting() -> Iterator[None]:
    """Do not wait for the disk: what is tested here is not durability."""
    real = os.fsync
    os.fsync = lambda descriptor: None
    try:
        yield
    finally:
        os.fsync = real


__all__ = ["State", "make", "no_waiting", "restore", "resumed", "same", "says_what_to_do", "state"]
