"""What a run must remember to go on as if it had never stopped: network, optimiser, chains, streams of chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..errors import CheckpointError
from ..runs.digests import HistoryDigest
from ..runs.folder import SETTINGS
from ..runs.optimizer import lay_out_like_parameters, pack_optimizer, unpack_optimizer
from ..seeds import reseed, stream
from .stage import Stage
from .trusting import check_memory, check_meta, check_optimizer

if TYPE_CHECKING:
    from .loop import Loop

# What torch and Python say of a state that is not what it should be.
MISFITS = (RuntimeError, KeyError, ValueError, TypeError, IndexError, AttributeError, OverflowError)


class Memory:
    """Saves and restores a :class:`~softground.learner.loop.Loop` at the end of an epoch."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self._best: dict[str, Tensor] = {}
        self._best_score = -1.0
        self._pending: tuple[dict[str, Tensor], dict[str, Any]] | None = None
        self._config = None if loop.folder is None else loop.folder.settings_digest()
        self._history = HistoryDigest()

    def begin_stage(self, stage: Stage) -> None:
        """Start a stage afresh, or put back what :meth:`load` read for it."""
        if self._pending is None:
            self._best, self._best_score = {}, -1.0
            return
        tensors, meta = self._pending
        self._pending = None
        try:
            state = unpack_optimizer(_part(tensors, "optimizer"), meta["optimizer"])
            check_optimizer(state, self.loop.optimizer)
            self.loop.optimizer.load_state_dict(state)
            lay_out_like_parameters(self.loop.optimizer)
            self._restore_objective(tensors, meta["stage"], stage.objective.state())
        except MISFITS as error:
            raise self._misfit(f"stage {stage.name}'s optimiser or objective", error) from error
        self._best, self._best_score = _part(tensors, "best"), meta["best_score"]

    def note_best(self, stage: Stage, score: float) -> None:
        """Keep a copy of the network if it is the best so far."""
        if stage.keep == "best" and score > self._best_score:
            self._best_score = score
            self._best = {k: v.detach().clone() for k, v in self.loop.network.state_dict().items()}

    def keep_best(self, stage: Stage) -> bool:
        """End a stage with its best network, where that was asked for; says whether it was."""
        if stage.keep == "best":
            self.loop.network.load_state_dict(self._best)
        return stage.keep == "best"

    def save(self, stage: int, epoch: int) -> None:
        """Write a checkpoint: ``epoch`` epochs of ``stage`` are done."""
        loop = self.loop
        if loop.folder is None:
            return
        optimizer, optimizer_meta = pack_optimizer(loop.optimizer.state_dict())
        # Those of finished stages too: their chains are part of what a run leaves.
        states = [s.objective.state() for s in loop.stages[: stage + 1]]
        objective = {f"{n}/{k}": self._gather(v) for n, state in enumerate(states) for k, v in state.items()}
        parts = {
            "network": dict(loop.network.state_dict()),
            "optimizer": optimizer,
            "objective": objective,
            "best": self._best,
            "random": {name: self._stack(state) for name, state in self._random_states().items()},
        }
        meta = {
            "stage": stage,
            "epoch": epoch,
            "world": loop.fabric.world_size,
            "device": loop.fabric.device.type,
            "settings": self._settings(),
            "optimizer": optimizer_meta,
            "best_score": self._best_score,
            "records": len(loop.history),
            "metrics_sha256": self._history.of(loop.history),
            SETTINGS: self._config,
            "results": loop.results,
            "seconds": loop.seconds,
        }
        if loop.fabric.is_global_zero:
            flat = {f"{part}/{k}": v for part, tensors in parts.items() for k, v in tensors.items()}
            loop.folder.save_checkpoint(flat, meta)
        loop.fabric.barrier()

    def load(self, previous: bool = False) -> tuple[int, int]:
        """Read the checkpoint; returns the stage and epoch to go on with."""
        loop = self.loop
        if loop.folder is None:
            raise CheckpointError("There is no run folder to resume from; give the folder of an earlier run.")
        if not loop.folder.has_checkpoint():
            if loop.fabric.is_global_zero:
                loop.folder.truncate_metrics(0)
            return 0, 0  # stopped before anything was saved: begin again
        tensors, meta = loop.folder.load_checkpoint(previous)
        try:
            check_meta(meta, loop.stages)
        except ValueError as error:
            raise self._misfit("stages", error) from error
        for name, value in self._settings().items():
            if (then := meta["settings"].get(name)) != value:
                raise CheckpointError(
                    f"The run in {loop.folder.path} was started with {name} {then!r}, this one has {value!r}. "
                    "Resume with the settings the run was started with."
                )
        stage, epoch = meta["stage"], meta["epoch"]
        try:
            loop.network.load_state_dict(_part(tensors, "network"))
            self._restore_random(_part(tensors, "random"), meta)
            for number in range(stage + (epoch == loop.stages[stage].epochs)):
                self._restore_objective(tensors, number)
        except MISFITS as error:
            raise self._misfit("network", error) from error
        if loop.fabric.is_global_zero:
            loop.folder.truncate_metrics(meta["records"], meta.get("metrics_sha256"))
        loop.fabric.barrier()
        loop.history = loop.folder.read_metrics()
        loop.results = meta["results"]
        loop.began -= meta["seconds"]
        if epoch == loop.stages[stage].epochs:
            return stage + 1, 0
        self._pending = tensors, meta
        return stage, epoch

    def _settings(self) -> dict[str, Any]:
        """What must be the same again for a run to be the same."""
        loop = self.loop
        stages = [[s.name, s.epochs] for s in loop.stages]
        return {"stages": stages, "examples": len(loop.train), "batch_size": loop.batch_size, "seed": loop.seed}

    def _restore_objective(
        self, tensors: dict[str, Tensor], stage: int, fresh: dict[str, Tensor] | None = None
    ) -> None:
        """Give a stage's objective its memory back; ``fresh`` is what it has without it."""
        state = _part(_part(tensors, "objective"), str(stage))
        check_memory(self.loop.task, len(self.loop.train), state, fresh or {})
        self.loop.stages[stage].objective.restore({k: v.to(self.loop.fabric.device) for k, v in state.items()})

    def _misfit(self, what: str, error: Exception) -> CheckpointError:
        return CheckpointError(
            f"The checkpoint in {self.loop.folder.path if self.loop.folder else '?'} does not fit this run's {what}: "
            f"{error}. Resume with the settings the run was started with."
        )

    def _random_states(self) -> dict[str, Tensor]:
        loop = self.loop
        states = {
            "dice": loop.dice.state(),
            "order": loop.order.get_state(),
            "augment": loop.distortion.get_state(),
            "network": loop.chance.get_state(),
            "torch": torch.get_rng_state(),
        }
        if loop.fabric.device.type == "cuda":
            states["cuda"] = torch.cuda.get_rng_state(loop.fabric.device)
        return states

    def _restore_random(self, states: dict[str, Tensor], meta: dict[str, Any]) -> None:
        loop, rank = self.loop, self.loop.fabric.global_rank
        if (meta["world"], meta["device"]) != (loop.fabric.world_size, loop.fabric.device.type):
            # Other processes or another kind of device cannot have the same streams; new ones keep the law.
            again = f"{meta['stage']}.{meta['epoch']} of {loop.fabric.world_size}"
            loop.dice.generator.manual_seed(stream(loop.seed, f"dice {again}", rank))
            loop.order.manual_seed(stream(loop.seed, f"order {again}", rank))
            loop.distortion.manual_seed(stream(loop.seed, f"augment {again}", rank))
            loop.chance.manual_seed(stream(loop.seed, f"network {again}", rank))
            reseed(stream(loop.seed, f"network {again}", rank))
            return
        # Copies: torch's generators read the storage from its beginning, whatever the row.
        own = {name: state[rank].clone() for name, state in states.items()}
        loop.dice.restore(own["dice"])
        loop.order.set_state(own["order"])
        loop.distortion.set_state(own["augment"])
        loop.chance.set_state(own["network"])
        torch.set_rng_state(own["torch"])
        if loop.fabric.device.type == "cuda" and "cuda" in own:
            torch.cuda.set_rng_state(own["cuda"], loop.fabric.device)

    def _stack(self, state: Tensor) -> Tensor:
        """One row per process."""
        gathered = self.loop.fabric.all_gather(state.to(self.loop.fabric.device))
        return gathered.view(self.loop.fabric.world_size, -1).cpu()  # type: ignore[union-attr]

    def _gather(self, memory: Tensor) -> Tensor:
        """Each example's row from the process that owns it."""
        if self.loop.fabric.world_size == 1:
            return memory
        own = torch.zeros_like(memory)
        rows = self.loop.own.to(memory.device)
        own[rows] = memory[rows]
        return self.loop.fabric.all_reduce(own, reduce_op="sum")  # type: ignore[return-value]


def _part(tensors: dict[str, Tensor], name: str) -> dict[str, Tensor]:
    prefix = f"{name}/"
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
