"""What a run must remember to go on as if it had never stopped. Only this file knows the names it uses.

Tensors are named ``part/…``: the network's, the optimiser's, each objective's memory (``objective/STAGE/…``, and
``objective/STAGE/SHAPE/…`` for a family), the best
network so far and the states of the streams of chance (one row per process). All else is in the checkpoint's meta.

A digest shows that a checkpoint is whole, not that it is harmless. What would cause harm later is checked
here: the position in the run, chains with symbols outside the space, optimiser settings that are not numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..errors import CheckpointError
from ..objectives.base import CHAINS
from ..objectives.starts import WAITING
from ..runs.checkpoint import one_is_missing, part
from ..runs.codec import decode, encode
from ..runs.folder import CONFIG_DIGEST, RunFolder
from ..task import Task
from .progress import Progress
from .stage import Stage, lay_out_like_parameters

if TYPE_CHECKING:
    from .loop import Loop
    from .training import Training

State = tuple[dict[str, Tensor], dict[str, Any]]
NETWORK, OPTIMIZER, OBJECTIVE, BEST, RANDOM = "network", "optimizer", "objective", "best", "random"
# What torch and Python raise for a state that does not fit.
MISFITS = (RuntimeError, KeyError, ValueError, TypeError, IndexError, AttributeError, OverflowError)
GROUNDED = 64  # chains that are held against the rule


class Checkpoints:
    """Saves a run at the end of an epoch, and restores it."""

    def __init__(self, folder: RunFolder, loop: Loop) -> None:
        self.folder, self.loop, self.fabric = folder, loop, loop.fabric
        self._config = folder.config_digest()
        self._loaded: State | None = None

    def save(self) -> None:
        """Write a checkpoint."""
        progress, optimizer_tensors = self.loop.progress, dict[str, Tensor]()
        optimizer_meta = encode(self.loop.optimizer.state_dict(), optimizer_tensors)
        # Finished stages too: their chains are part of what a run leaves behind.
        states = {
            f"{number}/{part.key}{name}": gathered(self.loop, part, value)
            for number, part in product(range(progress.stage + 1), self.loop.parts)
            for name, value in part.objectives[number].state().items()
        }
        parts = {
            NETWORK: dict(self.loop.network.state_dict()),
            OPTIMIZER: optimizer_tensors,
            OBJECTIVE: states,
            BEST: progress.best,
            RANDOM: {name: self._stack(state) for name, state in self.loop.streams.states().items()},
        }
        meta = {
            "stage": progress.stage,
            "epoch": progress.epoch,
            "following": progress.following,
            "best_score": progress.best_score,
            "results": progress.results,
            "records": len(progress.history),
            "metrics_sha256": progress.digest,
            CONFIG_DIGEST: self._config,
            "optimizer": optimizer_meta,
            "world": self.fabric.world_size,
            "device": self.fabric.device.type,
            "threads": torch.get_num_threads(),
            "seconds": self.loop.seconds,
        }
        if self.fabric.is_global_zero:
            flat = {f"{name}/{k}": v for name, tensors in parts.items() for k, v in tensors.items()}
            self.folder.save_checkpoint(flat, meta)
        self.fabric.barrier()

    def load(self, previous: bool = False) -> Progress:
        """Restore network, streams and finished stages; the stage to go on with awaits :meth:`restore_stage`."""
        if not self.folder.has_checkpoint():
            if self.fabric.is_global_zero:
                self.folder.truncate_metrics(0)
            return Progress()  # stopped before anything was saved: begin again
        tensors, meta = _read(self.folder, previous)
        try:
            stage, epoch = int(meta["stage"]), int(meta["epoch"])
            if not (0 <= stage < len(self.loop.stages) and 0 <= epoch <= self.loop.stages[stage].most):
                raise ValueError(f"it was saved after {_place(meta)}, which this run does not have")
            following = None if meta["following"] is None else int(meta["following"])
            if following is not None and not stage < following <= len(self.loop.stages):
                raise ValueError(f"after stage {stage + 1} it goes on with stage {following + 1}")
            if following == len(self.loop.stages) and meta.get(CONFIG_DIGEST) not in (None, self._config):
                following = None  # it was finished, and is to go on: see softground.experiments.extending
            self.loop.network.load_state_dict(part(tensors, NETWORK))
            self._restore_streams(part(tensors, RANDOM), meta)
            for number in range(stage + (following is not None)):
                self._restore_objectives(tensors, number)
            results = meta["results"]
            if not all(isinstance(v, int | float | None) for figures in results.values() for v in figures.values()):
                raise ValueError("its results are not numbers")
            records, digest = int(meta["records"]), str(meta["metrics_sha256"])
            seconds, best_score = float(meta["seconds"]), float(meta["best_score"])
        except MISFITS as error:
            raise self._misfit("stages or network", error) from error
        if self.fabric.is_global_zero:
            self.folder.truncate_metrics(records, digest)
        self.fabric.barrier()
        progress = Progress(stage, epoch, self.folder.read_metrics(), digest, results, seconds=seconds)
        if following is not None:
            progress.begin_stage(following)
        else:
            progress.best, progress.best_score = part(tensors, BEST), best_score
            self._loaded = tensors, meta
        return progress

    def restore_stage(self, stage: Stage, optimizer: Any) -> None:
        """Give a stage that has just begun what :meth:`load` read for it, if anything."""
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
            self._restore_objectives(tensors, meta["stage"], begun=True)
        except MISFITS as error:
            raise self._misfit(f"stage {stage.name}'s optimiser or objective", error) from error

    def _restore_objectives(self, tensors: dict[str, Tensor], stage: int, begun: bool = False) -> None:
        """Give a stage's objectives their memory back; those that have ``begun`` know what it must look like."""
        for each in self.loop.parts:
            found = part(part(tensors, OBJECTIVE), f"{stage}/{each.key}".rstrip("/"))
            state, objective = {k: v.to(self.fabric.device) for k, v in found.items()}, each.objectives[stage]
            _check_memory(state, objective.state() if begun else {}, each.task, each.y)
            objective.restore(state)

    def _restore_streams(self, states: dict[str, Tensor], meta: Mapping[str, Any]) -> None:
        fabric = self.fabric
        if (meta["world"], meta["device"]) != (fabric.world_size, fabric.device.type):
            # Streams cannot move to another number of processes or kind of device; new ones keep the law.
            self.loop.streams.begin(f"{meta['stage']}.{meta['epoch']} of {fabric.world_size}")
            return
        if meta["device"] == "cpu" and meta["threads"] != (now := torch.get_num_threads()):
            warnings.warn(
                f"{self.folder.path}: the run used {meta['threads']} threads, and this process uses {now}. Sums are "
                "then rounded differently, so the last bits may differ. For the same bits, call "
                f"torch.set_num_threads({meta['threads']}) first, or set OMP_NUM_THREADS.",
                stacklevel=2,
            )
        # Copies, because torch's generators read a tensor's storage from its start, not from the row.
        self.loop.streams.restore({name: state[fabric.global_rank].clone() for name, state in states.items()})

    def _misfit(self, what: str, error: Exception) -> CheckpointError:
        return CheckpointError(
            f"The checkpoint in {self.folder.path} does not fit this run's {what}: {error}. Resume with the settings "
            "the run was started with."
        )

    def _stack(self, state: Tensor) -> Tensor:
        """One row per process."""
        gathered = self.fabric.all_gather(state.to(self.fabric.device))
        return gathered.view(self.fabric.world_size, -1).cpu()  # type: ignore[union-attr]


def gathered(loop: Loop, part: Training, memory: Tensor) -> Tensor:
    """Each example's row from the process that owns it."""
    if loop.fabric.world_size == 1:
        return memory
    own, rows = torch.zeros_like(memory), part.own.to(memory.device)
    own[rows] = memory[rows]
    return loop.fabric.all_reduce(own, reduce_op="sum")  # type: ignore[return-value]


def chains_of_all(loop: Loop, part: Training) -> Tensor | None:
    """The chains of a part in a run's last stage that has any, of all processes."""
    states = (objective.state() for objective in reversed(part.objectives))
    chains = next((state[CHAINS] for state in states if CHAINS in state), None)
    return None if chains is None else gathered(loop, part, chains)


def network_of(folder: RunFolder, previous: bool = False) -> dict[str, Tensor]:
    """The network's state in a run's checkpoint, or in the one before it."""
    return part(_read(folder, previous)[0], NETWORK)


def chains_of(folder: RunFolder, shape: Any = None) -> Tensor | None:
    """The chains in a run's checkpoint, of one shape: those of its last stage that has any."""
    if not folder.has_checkpoint():
        return None
    found, name = part(_read(folder)[0], OBJECTIVE), CHAINS if shape is None else f"{shape}/{CHAINS}"
    stages = [int(stage) for key in found for stage, _, rest in [key.partition("/")] if rest == name]
    return found[f"{max(stages)}/{name}"] if stages else None


def _read(folder: RunFolder, previous: bool = False) -> State:
    """A checkpoint. Warns if the newest one is gone."""
    tensors, meta = folder.load_checkpoint(previous)
    records = meta.get("records")
    if one_is_missing(folder.path) and isinstance(records, int) and len(folder.read_metrics()) > records:
        warnings.warn(
            f"{folder.path}: the newest checkpoint is missing. The one before it is used instead, which was saved "
            f"after {_place(meta)}.",
            stacklevel=2,
        )
    return tensors, meta


def _place(meta: Mapping[str, Any]) -> str:
    stage = meta.get("stage")
    number = stage + 1 if isinstance(stage, int) else stage
    return f"epoch {str(meta.get('epoch'))[:20]} of stage {str(number)[:20]}"


def _check_memory(state: Mapping[str, Tensor], fresh: Mapping[str, Tensor], task: Task, y: Tensor) -> None:
    """An objective's memory has one row per example, like a ``fresh`` one; chains explain the answers ``y``."""
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
