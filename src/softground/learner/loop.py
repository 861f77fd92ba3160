"""Algorithm 1 as one explicit loop: stages of epochs of batches, over Lightning Fabric.

The same code runs on a CPU, a GPU, and several of either under ``torchrun``. Every process owns the examples
``rank, rank + world, …`` and their chains; gradients are averaged by Fabric; process 0 writes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from ..dice import Sampler
from ..errors import NonFiniteOutput
from ..objectives.base import Batch
from ..runs.folder import RunFolder
from ..task import Task
from .batches import Batches
from .evaluation import evaluate
from .memory import Memory
from .stage import Stage, set_learning_rate
from .stopwatch import Stopwatch
from .streams import stream

Augment = Callable[[Any, torch.Generator], Any]
Observer = Callable[[str, dict[str, Any]], None]


@dataclass
class Loop:
    """One training run.

    Parameters
    ----------
    task, network, stages
        What is learnt, by what, how.
    fabric
        Where; an unlaunched or launched :class:`lightning_fabric.Fabric`.
    batch_size
        Examples per gradient step, over all processes together.
    seed
        Decides every draw.
    augment
        Optional distortion ``augment(x, generator)`` of each training batch.
    folder
        Where metrics and checkpoints go; nothing is written without one.
    observer
        Called with an event's name (``"begin"``, ``"batch"``, ``"epoch"``, ``"stage"``) and its facts, for displays.
    evaluate_every
        Epochs between evaluations on the test set (the last epoch of a stage always is).
    """

    task: Task
    network: nn.Module
    stages: list[Stage]
    fabric: Fabric
    batch_size: int = 64
    seed: int = 0
    augment: Augment | None = None
    folder: RunFolder | None = None
    observer: Observer = lambda event, facts: None
    evaluate_every: int = 1
    history: list[dict[str, Any]] = field(default_factory=list)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)

    def run(self, train: Batches, test: Batches | None = None, resume: bool = False, previous: bool = False) -> None:
        """Train from the start, or from the folder's last checkpoint."""
        fabric, device = self.fabric, self.fabric.device
        rank, world = fabric.global_rank, fabric.world_size
        torch.manual_seed(stream(self.seed, "network", rank))  # for dropout and the like inside the network
        self.module = fabric.setup_module(self.network)
        self.dice = Sampler(stream(self.seed, "dice", rank), device)
        self.order = torch.Generator().manual_seed(stream(self.seed, "order", rank))
        self.distortion = torch.Generator(device).manual_seed(stream(self.seed, "augment", rank))
        self.own = torch.arange(rank, len(train), world)
        self.train, self.test = train, test
        self.y = self.task.constraint.encode(train.answers).to(device)
        self.test_y = None if test is None else self.task.constraint.encode(test.answers).to(device)

        memory = Memory(self)
        at_stage, at_epoch = memory.load(previous) if resume else (0, 0)
        self.observer("begin", {"stages": self.stages, "examples": len(train), "done": (at_stage, at_epoch)})
        for number, stage in enumerate(self.stages):
            if number < at_stage:
                continue
            self._stage(number, stage, memory, at_epoch if number == at_stage else 0)

    def _stage(self, number: int, stage: Stage, memory: Memory, done: int) -> None:
        self.optimizer = self.fabric.setup_optimizers(stage.optimizer(self.module.parameters()))
        base = [group["lr"] for group in self.optimizer.param_groups]
        stage.objective.begin(self.task, self.y, stream(self.seed, f"start {stage.name}"))
        memory.begin_stage(stage)
        for epoch in range(done, stage.epochs):
            record = self._epoch(stage, epoch, base)
            memory.note_best(stage, record["feasible"])
            last = epoch + 1 == stage.epochs
            if self.test is not None and (last or (epoch + 1) % self.evaluate_every == 0):
                record |= {f"test_{k}": v for k, v in evaluate(self.task, self.network, self.test, self.test_y).items()}  # type: ignore[arg-type]
            self.history.append(record)
            if last:
                memory.keep_best(stage)
                if self.test is not None:
                    self.results[stage.name] = evaluate(self.task, self.network, self.test, self.test_y)  # type: ignore[arg-type]
            if self.folder and self.fabric.is_global_zero:
                self.folder.append(record)
            memory.save(number, epoch + 1)
            self.observer("epoch", record)
        self.observer("stage", {"stage": stage.name, "result": self.results.get(stage.name, {})})

    def _epoch(self, stage: Stage, epoch: int, base: list[float]) -> dict[str, Any]:
        """One pass over this process's examples: walk the chains, step the network."""
        began, solver = time.perf_counter(), self.task.inverse.solver_seconds
        stopwatch = Stopwatch(self.fabric.device)
        sums: dict[str, Tensor] = {}
        batches = self._shuffled()
        self.module.train()
        for step, (index, x) in enumerate(self.train.walk(batches)):
            if stage.learning_rate:
                progress = (epoch + step / len(batches)) / stage.epochs
                set_learning_rate(self.optimizer, base, stage.learning_rate(progress))
            y, symbols = self.y[index], None if self.train.symbols is None else self.train.symbols[index]
            try:
                with stopwatch("network"):
                    belief = self.task.space.belief(self.module(x if not self.augment else self.augment(x, self.distortion)))
            except NonFiniteOutput as error:
                kept = "" if self.folder is None else f" The last good state is in {self.folder.path}."
                raise NonFiniteOutput(
                    f"Stage {stage.name}, epoch {epoch}, batch {step} (training examples {index.tolist()[:8]} …): {error}{kept}"
                ) from error
            outcome = stage.objective.loss(Batch(index, belief, y, symbols, epoch, self.dice, stopwatch))
            with stopwatch("network"):
                self.optimizer.zero_grad()
                self.fabric.backward(outcome.loss)
                self.optimizer.step()
            with torch.no_grad():
                prediction = belief.mode()
                seen = {"loss": outcome.loss.detach().expand(len(index)), "feasible": self.task.feasible(prediction, y)}
                if symbols is not None:
                    seen["train_symbol_accuracy"] = (prediction == symbols).float().mean(1)
                for name, value in (seen | outcome.diagnostics).items():
                    sums[name] = sums.get(name, 0) + value.detach().double().sum()
            self.observer("batch", {"stage": stage.name, "epoch": epoch, "step": step, "steps": len(batches)})
        record = self._record(stage, epoch, sums, sum(map(len, batches)))
        solver, parts = self.task.inverse.solver_seconds - solver, stopwatch.read()
        record["seconds"] = {
            "network": parts.get("network", 0.0),
            "sampling": max(0.0, parts.get("sampling", 0.0) - solver),
            "solver": solver,
            "total": time.perf_counter() - began,
        }
        return record

    def _shuffled(self) -> list[Tensor]:
        """This process's examples in a new random order, cut into the same number of batches on every process."""
        world = self.fabric.world_size
        size = max(1, self.batch_size // world)
        steps = -(-(-(-len(self.train) // world)) // size)
        order = self.own[torch.randperm(len(self.own), generator=self.order)]
        short = (steps - 1) * size + 1 - len(order)
        if short > 0:  # other processes own one example more: begin again, so that all take as many steps
            order = torch.cat([order, order[:short]])
        return list(order.split(size))

    def _record(self, stage: Stage, epoch: int, sums: dict[str, Tensor], seen: int) -> dict[str, Any]:
        """The epoch's averages over all processes."""

        def mean(value: Tensor) -> float:
            return float(self.fabric.all_reduce(value, reduce_op="mean"))  # type: ignore[arg-type]

        means = {name: mean(total / seen) for name, total in sums.items()}
        record: dict[str, Any] = {"stage": stage.name, "epoch": epoch} | stage.objective.settings(epoch) | means
        chains = stage.objective.state().get("chains")
        if chains is not None and self.train.symbols is not None:
            own = self.own.to(chains.device)
            record["grounded_symbols"] = mean((chains[own] == self.train.symbols[own]).double().mean())
        return record
