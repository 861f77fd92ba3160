"""What a run must remember to go on as if it had never stopped. The names under which it does are known here only.

Tensors are named ``part/…``: the network's, the optimiser's, each objective's memory (``objective/STAGE/…``), the best
network so far and the states of the streams of chance (one row per process). All else is in the checkpoint's meta.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ..errors import CheckpointError
from ..objectives.base import CHAINS
from ..runs.codec import decode, encode
from ..runs.digests import HistoryDigest
from ..runs.folder import CONFIG_DIGEST, RunFolder
from ..task import Task
from .misfits import check_chains, check_memory, check_meta, check_optimizer
from .stage import Stage, lay_out_like_parameters
from .streams import Streams

if TYPE_CHECKING:
    from lightning_fabric import Fabric

NETWORK, OPTIMIZER, OBJECTIVE, BEST, RANDOM = "network", "optimizer", "objective", "best", "random"
# What torch and Python say of a state that is not what it should be.
MISFITS = (RuntimeError, KeyError, ValueError, TypeError, IndexError, AttributeError, OverflowError)


@dataclass
class Progress:
    """How far a run has come.

    Attributes
    ----------
    stage, epoch
        The stage the run is in, and how many of its epochs are done.
    history, results
        One record per epoch; test figures after each stage.
    best, best_score
        The best network of the stage so far, where it is to be kept.
    seconds
        Wall-clock time before the last interruption.
    """

    stage: int = 0
    epoch: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    best: dict[str, Tensor] = field(default_factory=dict)
    best_score: float = -1.0
    seconds: float = 0.0

    def begin_stage(self, number: int) -> None:
        """Nothing of this stage is done yet."""
        self.stage, self.epoch, self.best, self.best_score = number, 0, {}, -1.0

    def note(self, network: nn.Module, score: float) -> None:
        """Keep a copy of the network if it is the best so far."""
        if score > self.best_score:
            self.best_score = score
            self.best = {name: value.detach().clone() for name, value in network.state_dict().items()}


@dataclass
class Checkpoints:
    """Saves a run at the end of an epoch, and restores it.

    Attributes
    ----------
    own
        Positions of the training examples that this process owns.
    y
        Encoded answers of all training examples.
    """

    folder: RunFolder
    fabric: Fabric
    task: Task
    network: nn.Module
    stages: list[Stage]
    streams: Streams
    own: Tensor
    y: Tensor

    def __post_init__(self) -> None:
        self._config = self.folder.config_digest()
        self._history = HistoryDigest()
        self._loaded: tuple[dict[str, Tensor], dict[str, Any]] | None = None

    def save(self, progress: Progress, optimizer: Any, seconds: float) -> None:
        """Write a checkpoint; the run has taken so many ``seconds``."""
        optimizer_tensors: dict[str, Tensor] = {}
        optimizer_meta = encode(optimizer.state_dict(), optimizer_tensors)
        # Those of finished stages too: their chains are part of what a run leaves.
        states = [stage.objective.state() for stage in self.stages[: progress.stage + 1]]
        parts = {
            NETWORK: dict(self.network.state_dict()),
            OPTIMIZER: optimizer_tensors,
            OBJECTIVE: {f"{n}/{k}": self._gather(v) for n, state in enumerate(states) for k, v in state.items()},
            BEST: progress.best,
            RANDOM: {name: self._stack(state) for name, state in self.streams.states().items()},
        }
        meta = {
            "stage": progress.stage,
            "epoch": progress.epoch,
            "best_score": progress.best_score,
            "results": progress.results,
            "records": len(progress.history),
            "metrics_sha256": self._history.of(progress.history),
            CONFIG_DIGEST: self._config,
            "optimizer": optimizer_meta,
            "world": self.fabric.world_size,
            "device": self.fabric.device.type,
            "threads": torch.get_num_threads(),
            "seconds": seconds,
        }
        if self.fabric.is_global_zero:
            flat = {f"{part}/{k}": v for part, tensors in parts.items() for k, v in tensors.items()}
            self.folder.save_checkpoint(flat, meta)
        self.fabric.barrier()

    def load(self, previous: bool = False) -> Progress:
        """Restore network, streams and finished stages; the stage to go on with awaits :meth:`restore_stage`."""
        if not self.folder.has_checkpoint():
            if self.fabric.is_global_zero:
                self.folder.truncate_metrics(0)
            return Progress()  # stopped before anything was saved: begin again
        tensors, meta = self.folder.load_checkpoint(previous)
        try:
            check_meta(meta, self.stages)
        except ValueError as error:
            raise self._misfit("stages", error) from error
        stage, epoch = meta["stage"], meta["epoch"]
        finished = epoch == self.stages[stage].epochs
        try:
            self.network.load_state_dict(_part(tensors, NETWORK))
            self._restore_streams(_part(tensors, RANDOM), meta)
            for number in range(stage + finished):
                self._restore_objective(tensors, number)
        except MISFITS as error:
            raise self._misfit("network", error) from error
        if self.fabric.is_global_zero:
            self.folder.truncate_metrics(meta["records"], meta.get("metrics_sha256"))
        self.fabric.barrier()
        progress = Progress(stage, epoch, self.folder.read_metrics(), meta["results"], seconds=meta["seconds"])
        if finished:
            progress.begin_stage(stage + 1)
        else:
            progress.best, progress.best_score = _part(tensors, BEST), meta["best_score"]
            self._loaded = tensors, meta
        return progress

    def restore_stage(self, stage: Stage, optimizer: Any) -> None:
        """Give a stage that has just begun what :meth:`load` read for it, if anything."""
        if self._loaded is None:
            return
        (tensors, meta), self._loaded = self._loaded, None
        try:
            state = decode(meta["optimizer"], _part(tensors, OPTIMIZER))
            check_optimizer(state, optimizer)
            optimizer.load_state_dict(state)
            lay_out_like_parameters(optimizer)
            self._restore_objective(tensors, meta["stage"], stage.objective.state())
        except MISFITS as error:
            raise self._misfit(f"stage {stage.name}'s optimiser or objective", error) from error

    def _restore_objective(
        self, tensors: dict[str, Tensor], stage: int, fresh: Mapping[str, Tensor] | None = None
    ) -> None:
        """Give a stage's objective its memory back; ``fresh`` is what it has without it."""
        device = self.fabric.device
        state = {k: v.to(device) for k, v in _part(_part(tensors, OBJECTIVE), str(stage)).items()}
        check_memory(state, fresh or {}, len(self.y))
        check_chains(self.task, state.get(CHAINS), self.y)
        self.stages[stage].objective.restore(state)

    def _restore_streams(self, states: dict[str, Tensor], meta: Mapping[str, Any]) -> None:
        fabric = self.fabric
        if (meta["world"], meta["device"]) != (fabric.world_size, fabric.device.type):
            # Other processes or another kind of device cannot have the same streams; new ones keep the law.
            self.streams.begin(f"{meta['stage']}.{meta['epoch']} of {fabric.world_size}")
            return
        if meta["device"] == "cpu" and meta["threads"] != (now := torch.get_num_threads()):
            warnings.warn(
                f"{self.folder.path}: the run used {meta['threads']} threads, and this process uses {now}. Sums are "
                "then rounded differently, so the last bits may differ. For the same bits, call "
                f"torch.set_num_threads({meta['threads']}) first, or set OMP_NUM_THREADS.",
                stacklevel=2,
            )
        # Copies: torch's generators read the storage from its beginning, whatever the row.
        self.streams.restore({name: state[fabric.global_rank].clone() for name, state in states.items()})

    def _misfit(self, what: str, error: Exception) -> CheckpointError:
        return CheckpointError(
            f"The checkpoint in {self.folder.path} does not fit this run's {what}: {error}. Resume with the settings "
            "the run was started with."
        )

    def _stack(self, state: Tensor) -> Tensor:
        """One row per process."""
        gathered = self.fabric.all_gather(state.to(self.fabric.device))
        return gathered.view(self.fabric.world_size, -1).cpu()  # type: ignore[union-attr]

    def _gather(self, memory: Tensor) -> Tensor:
        """Each example's row from the process that owns it."""
        if self.fabric.world_size == 1:
            return memory
        own, rows = torch.zeros_like(memory), self.own.to(memory.device)
        own[rows] = memory[rows]
        return self.fabric.all_reduce(own, reduce_op="sum")  # type: ignore[return-value]


def network_of(folder: RunFolder, previous: bool = False) -> dict[str, Tensor]:
    """The network's state in a run's checkpoint, or in the one before it."""
    return _part(folder.load_checkpoint(previous)[0], NETWORK)


def chains_of(folder: RunFolder) -> Tensor | None:
    """The chains in a run's checkpoint: those of its last stage that has any."""
    if not folder.has_checkpoint():
        return None
    found = _part(folder.load_checkpoint()[0], OBJECTIVE)
    stages = [int(name.partition("/")[0]) for name in found if name.endswith(f"/{CHAINS}")]
    return found[f"{max(stages)}/{CHAINS}"] if stages else None


def _part(tensors: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    prefix = f"{name}/"
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
