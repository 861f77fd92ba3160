"""The state of a run: its progress, its random streams, and the checkpoints that hold them.

Tensors are named ``part/…``: the network's, the optimiser's, what each stage remembers of the examples
(``objective/STAGE/…``, and ``objective/STAGE/SHAPE/…`` for a family), the best network so far and the states of the
random streams. Everything else is in the checkpoint's meta.

Each process has its own memory and streams. Process 0 saves them in the checkpoint, every other process in a separate
file: row k of process r of W belongs to example r + kW. A run must be resumed with the same number of processes. On
another kind of device, network, optimiser and memory are restored bit for bit; the random streams begin anew.

A digest shows that a checkpoint is complete, not that it is harmless. This file checks the position in the run, chains
with symbols outside the space, and optimiser settings that are not numbers.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..dice import Streams
from ..errors import CheckpointError
from ..files import Json, failure
from ..runs.checkpoint import load_part, one_is_missing, part, save_part, upcoming
from ..runs.codec import decode, encode
from ..runs.folder import CONFIG_DIGEST, RunFolder, history_digest
from ..task import Shape, Task
from ..training.first_states import WAITING
from ..training.step import CHAINS
from .device import everyone
from .identity import refuse_other_processes
from .observers import LEARNT
from .plan import Plan
from .restarts import Start
from .stage import Stage, lay_out_like_parameters
from .trained_part import TrainedPart

State = tuple[dict[str, Tensor], Json]
Record = Json  # of an epoch, as in ``metrics.jsonl``
NETWORK, OPTIMIZER, MEMORY, BEST, RANDOM = "network", "optimizer", "objective", "best", "random"
KEPT, INITIAL = "kept", "initial"
STATE = 1  # version of the saved state: 0 in softground 0.3.0. A change of its content needs the next number.
# Errors of torch and Python for a state that does not fit.
MISFITS = (RuntimeError, KeyError, ValueError, TypeError, IndexError, AttributeError, OverflowError)
GROUNDED = 64  # chains that are checked against the rule


def network_of(folder: RunFolder, previous: bool = False) -> dict[str, Tensor]:
    """Read the network's state from a run's checkpoint, or from the one before it."""
    return part(read_checkpoint(folder, previous)[0], NETWORK)


def chains_of(folder: RunFolder, shape: Shape = None) -> Tensor | None:
    """Read one shape's chains from a run's checkpoint, of the last stage with chains."""
    if not folder.has_checkpoint():
        return None
    (tensors, meta), name = read_checkpoint(folder), CHAINS if shape is None else f"{shape}/{CHAINS}"
    found = part(tensors, MEMORY)
    stages = [int(stage) for key in found for stage, _, rest in [key.partition("/")] if rest == name]
    if not stages:
        return None
    files = [tensors, *(load_part(folder.path, part) for part in parts_named(folder, meta))]
    each = [tensors[f"{MEMORY}/{max(stages)}/{name}"] for tensors in files]
    whole = each[0].new_empty(sum(map(len, each)), *each[0].shape[1:])
    for rank, rows in enumerate(each):
        whole[rank :: len(each)] = rows
    return whole


def read_checkpoint(folder: RunFolder, previous: bool = False) -> State:
    """Read a checkpoint; warn if the newest one is gone."""
    tensors, meta = folder.load_checkpoint(previous)
    records = meta.get("records")
    if one_is_missing(folder.path) and isinstance(records, int) and len(folder.read_metrics()) > records:
        warnings.warn(
            f"{folder.path}: the newest checkpoint is missing. The one before it is used instead, which was saved "
            f"after {saved_after(meta)}.",
            stacklevel=2,
        )
    return tensors, meta


def refuse_older(folder: RunFolder, meta: Mapping[str, object]) -> None:
    """Refuse a checkpoint of another version of the state, by its ``meta``."""
    if meta.get("state", 0) != STATE:
        version = str(folder.read_config().get("version"))[:40]
        raise CheckpointError(
            f"softground {version} started the run in {folder.path}, and this version cannot resume it: the saved "
            f"state has changed. Resume it with softground {version}, or start a new run."
        )


def parts_named(folder: RunFolder, meta: Mapping[str, object]) -> list[object]:
    """The files that processes 1, 2, … saved for a checkpoint."""
    names = meta.get("parts", [])
    if not isinstance(names, list) or meta.get("world") != 1 + len(names):
        reason = f"its checkpoint names the parts {str(names)[:60]} of {str(meta.get('world'))[:20]} processes"
        raise failure(folder.path, reason, "Restore it from a backup")
    return names


def saved_after(meta: Mapping[str, object]) -> str:
    stage = meta.get("stage")
    number = stage + 1 if isinstance(stage, int) else stage
    return f"epoch {str(meta.get('epoch'))[:20]} of stage {str(number)[:20]}"


@dataclass
class Progress:
    """The position of a run and its results so far."""

    stage: int = 0
    epoch: int = 0  # completed epochs of the stage
    history: list[Record] = field(default_factory=list)  # one record per epoch
    digest: str = ""  # of the history
    results: dict[str, Json] = field(default_factory=dict)  # test figures after each stage
    best: dict[str, Tensor] = field(default_factory=dict)  # the stage's best network so far, if the stage keeps it
    best_score: float = -math.inf
    following: int | None = None  # the next stage, once this one has ended
    seconds: float = 0.0  # wall-clock time before the last interruption
    starts: list[Start] = field(default_factory=list)  # completed starts
    kept: dict[str, Tensor] = field(default_factory=dict)  # the best start's network, while another start is training
    initial: dict[str, Tensor] = field(default_factory=dict)  # initial weights of further starts

    def begin_stage(self, number: int) -> None:
        """Move to the beginning of this stage."""
        self.stage, self.epoch, self.best, self.best_score, self.following = number, 0, {}, -math.inf, None

    def add(self, record: Record) -> None:
        """Add a completed epoch."""
        self.history.append(record)
        self.digest = history_digest(self.digest, record)
        self.epoch += 1

    def waited(self, stage: Stage) -> int:
        """Count the epochs in which a stage's schedule has waited, including the next one; see ``Stage.wait``."""
        if not stage.wait or not self.history or self.history[-1]["stage"] != stage.name:
            return 0
        last = self.history[-1]
        waited: int = last["waited"]
        stands = last["epoch"] - waited == stage.epochs // 5 and last["feasible"] < LEARNT
        return waited + (stands and waited < stage.wait)

    def note(self, network: nn.Module, score: float) -> None:
        """Keep a copy of the network if it is the best so far."""
        if score > self.best_score:
            self.best_score = score
            self.best = copied(network.state_dict())

    def stale(self, record: Mapping[str, object], patience: int) -> bool:
        """Whether the stage had ``patience`` epochs or more without a better validation figure.

        An epoch without evaluation never ends a stage.
        """
        scores = {r["epoch"]: validation_figure(r) for r in [*self.history, record] if r["stage"] == record["stage"]}
        known = {epoch: score for epoch, score in scores.items() if score is not None}
        return record["epoch"] in known and record["epoch"] - max(known, key=known.__getitem__) >= patience


def copied(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copy a network's state."""
    return {name: value.detach().clone() for name, value in tensors.items()}


def validation_figure(record: Mapping[str, Any]) -> float | None:
    """An epoch's validation figure: the first of the task's metrics; larger is better."""
    return next((value for name, value in record.items() if name.startswith("validation_")), None)


class Checkpoints:
    """Save a run at the end of an epoch, and restore it."""

    def __init__(self, folder: RunFolder, plan: Plan, parts: Sequence[TrainedPart], streams: Streams) -> None:
        self.folder, self.parts, self.streams = folder, parts, streams
        self.network, self.stages, self.fabric = plan.network, plan.stages, plan.fabric
        self._config = folder.config_digest()
        self._loaded: State | None = None
        self._memory: dict[str, Tensor] = {}  # of this process's examples

    def save(self, progress: Progress, optimizer: Optimizer, seconds: float) -> None:
        """Write a checkpoint after ``seconds`` of the run; every process writes its own part."""
        optimizer_tensors: dict[str, Tensor] = {}
        optimizer_meta = encode(optimizer.state_dict(), optimizer_tensors)
        # Includes finished stages, because their chains are results of the run.
        states = {
            f"{number}/{part.key}{name}": value
            for number, part in product(range(progress.stage + 1), self.parts)
            for name, value in part.memory[number].items()
        }
        own = _flat({MEMORY: states, RANDOM: self.streams.states()})
        number, rank = self.fabric.broadcast(upcoming(self.folder.path)), self.fabric.global_rank
        names = everyone(self.fabric, save_part(self.folder.path, number, rank, own) if rank else None)
        meta = {
            "state": STATE,
            "stage": progress.stage,
            "epoch": progress.epoch,
            "following": progress.following,
            "best_score": progress.best_score,
            "results": progress.results,
            **({"starts": [start.to_json() for start in progress.starts]} if progress.starts else {}),
            "records": len(progress.history),
            "metrics_sha256": progress.digest,
            CONFIG_DIGEST: self._config,
            "optimizer": optimizer_meta,
            "world": self.fabric.world_size,
            "device": self.fabric.device.type,
            "threads": torch.get_num_threads(),
            "seconds": seconds,
            **({"parts": names[1:]} if names[1:] else {}),
        }
        if self.fabric.is_global_zero:
            network = dict(self.network.state_dict())
            shared = _flat({NETWORK: network, OPTIMIZER: optimizer_tensors, BEST: progress.best})
            shared |= _flat({KEPT: progress.kept, INITIAL: progress.initial})
            self.folder.save_checkpoint(shared | own, meta)
        self.fabric.barrier()

    def load(self, previous: bool = False) -> Progress:
        """Restore network, streams and finished stages; :meth:`restore_stage` restores the current stage."""
        if not self.folder.has_checkpoint():
            if done := len(self.folder.read_metrics()):  # the first checkpoint comes before the first epoch
                raise CheckpointError(
                    f"{self.folder.path} has records of {done} epoch(s) and no checkpoint to go on from. Restore its "
                    "checkpoint-*.safetensors files, or start a new run in another folder."
                )
            return Progress()  # stopped before anything was saved: begin again
        tensors, meta = read_checkpoint(self.folder, previous)
        refuse_older(self.folder, meta)
        names, rank = parts_named(self.folder, meta), self.fabric.global_rank
        refuse_other_processes(self.folder, self.fabric.world_size, 1 + len(names))
        own = load_part(self.folder.path, names[rank - 1]) if rank else tensors
        self._memory = part(own, MEMORY)
        try:
            stage, epoch = int(meta["stage"]), int(meta["epoch"])
            if not (0 <= stage < len(self.stages) and 0 <= epoch <= self.stages[stage].most):
                raise ValueError(f"it was saved after {saved_after(meta)}, which this run does not have")
            following = None if meta["following"] is None else int(meta["following"])
            if following is not None and not stage < following <= len(self.stages):
                raise ValueError(f"after stage {stage + 1} it goes on with stage {following + 1}")
            if following == len(self.stages) and meta.get(CONFIG_DIGEST) not in (None, self._config):
                following = None  # a finished run is extended: see softground.experiments.extending
            self.network.load_state_dict(part(tensors, NETWORK))
            self._restore_streams(part(own, RANDOM), meta)
            for number in range(stage + (following is not None)):
                self._restore_memory(number)
            results = meta["results"]
            if not all(isinstance(v, int | float | None) for figures in results.values() for v in figures.values()):
                raise ValueError("its results are not numbers")
            records, digest = int(meta["records"]), str(meta["metrics_sha256"])
            seconds, best_score = float(meta["seconds"]), float(meta["best_score"])
            starts = [Start.of_json(start) for start in meta.get("starts", [])]
        except MISFITS as error:
            raise self._misfit("stages or network", error) from error
        if self.fabric.is_global_zero:
            self.folder.truncate_metrics(records, digest)
        self.fabric.barrier()
        progress = Progress(stage, epoch, self.folder.read_metrics(), digest, results, seconds=seconds, starts=starts)
        progress.kept, progress.initial = part(tensors, KEPT), part(tensors, INITIAL)
        if following is not None:
            progress.begin_stage(following)
        else:
            progress.best, progress.best_score = part(tensors, BEST), best_score
            self._loaded = tensors, meta
        return progress

    def restore_stage(self, stage: Stage, optimizer: Optimizer, history: Sequence[Record]) -> None:
        """Restore a stage that has just begun, if :meth:`load` read a state for it."""
        if self._loaded is None:
            return
        (tensors, meta), self._loaded = self._loaded, None
        try:
            state = decode(meta["optimizer"], part(tensors, OPTIMIZER))
            for mine, theirs in zip(optimizer.state_dict()["param_groups"], state["param_groups"], strict=True):
                for name, value in mine.items():
                    if not isinstance(given := theirs[name], int | float) and isinstance(value, int | float):
                        raise ValueError(f"its {name} is {str(given)[:60]!r}")
            optimizer.load_state_dict(state)
            lay_out_like_parameters(optimizer)
            self._restore_memory(meta["stage"], begun=True)
            # The saved unexplained examples count, even if a shorter search would not find them again.
            begun = {record["stage"] for record in history} | {stage.name}
            for each in self.parts:
                each.unexplained.forget()
                for number in range(meta["stage"] + 1):
                    if self.stages[number].name in begun:
                        each.note(number)
        except MISFITS as error:
            raise self._misfit(f"stage {stage.name}'s optimiser or examples", error) from error

    def _restore_memory(self, stage: int, begun: bool = False) -> None:
        """Restore a stage's memory; if the stage has ``begun``, check its form."""
        for each in self.parts:
            held = part(self._memory, f"{stage}/{each.key}".rstrip("/"))
            memory = {name: value.to(self.fabric.device) for name, value in held.items()}
            _check_memory(memory, each.memory[stage] if begun else {}, each.task, each.y)
            each.memory[stage] = memory

    def _restore_streams(self, states: dict[str, Tensor], meta: Mapping[str, object]) -> None:
        fabric = self.fabric
        if meta["device"] != fabric.device.type:  # streams cannot move to another kind of device
            self.streams.begin(f"{meta['stage']}.{meta['epoch']} of {fabric.world_size}")
            return
        if meta["device"] == "cpu" and meta["threads"] != (now := torch.get_num_threads()):
            warnings.warn(
                f"{self.folder.path}: the run used {meta['threads']} threads, and this process uses {now}. Sums are "
                "then rounded differently, so the last bits may differ. For identical results, call "
                f"torch.set_num_threads({meta['threads']}) first, or set OMP_NUM_THREADS.",
                stacklevel=2,
            )
        self.streams.restore(states)

    def _misfit(self, what: str, error: Exception) -> CheckpointError:
        return CheckpointError(
            f"The checkpoint in {self.folder.path} does not fit this run's {what}: {error}. Resume with the settings "
            "the run was started with."
        )


def _flat(parts: Mapping[str, Mapping[str, Tensor]]) -> dict[str, Tensor]:
    return {f"{name}/{key}": value for name, tensors in parts.items() for key, value in tensors.items()}


def _check_memory(state: Mapping[str, Tensor], fresh: Mapping[str, Tensor], task: Task, y: Tensor) -> None:
    """Check that a memory has the form of a ``fresh`` one and that chains explain the answers ``y``."""
    for name, value in state.items():
        like, symbols = fresh.get(name, value), name == CHAINS and task.space.categorical
        fits = value.shape[:1] == y.shape[:1] and (value.shape, value.dtype) == (like.shape, like.dtype)
        if not fits or (symbols and (value.is_floating_point() or value.shape[1:] != (task.space.sites,))):
            raise ValueError(f"its {name} are {list(value.shape)} numbers of {value.dtype}")
        if symbols and not 0 <= int(value.min()) <= int(value.max()) < task.space.width:
            raise ValueError("its chains hold symbols that the space does not have")
        waiting = state.get(WAITING, torch.zeros(len(y), device=value.device))[:GROUNDED]
        if symbols and not bool((task.feasible(value[:GROUNDED], y[:GROUNDED]) | (waiting > 0)).all()):
            raise ValueError("its chains do not explain the answers, so the rule has changed")
