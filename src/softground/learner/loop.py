"""Algorithm 1 as one explicit loop: stages of epochs of batches, over Lightning Fabric.

The same code runs on a CPU, a GPU, and several of either under ``torchrun``. Every process holds the examples
``rank, rank + world, …`` of each shape, and their chains, and no others; gradients are averaged by Fabric.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import torch

from ..errors import CheckpointError, NonFiniteOutput
from ..gpu import Graphed
from ..networks.dropout import draw_from
from ..runs.folder import RunFolder, plain
from ..seeds import borrowed
from .checkpoint import Checkpoints
from .descent import Descent
from .evaluation import check_rows, evaluate, named, results
from .events import Observer, ends
from .finite import FiniteOutputs, broken, everything
from .judging import Judge, Moment
from .outputs import Outputs
from .parts import Part
from .progress import Progress, validation_figure
from .settling import in_words
from .signs import signs
from .stage import Stage, make_optimizer
from .streams import Streams
from .tally import Tally
from .training import Training, mixed, walked
from .unexplained import of_every_shape

if TYPE_CHECKING:
    from .learner import Learner

Augment = Callable[[Any, torch.Generator], Any]


class Loop:
    """One training run of a learner.

    Parameters
    ----------
    learner
        What is trained, on what, how.
    folder
        Where metrics and checkpoints go, if anywhere.
    observer
        Is told what happens, and may end the run; see :mod:`softground.learner.events`.
    """

    def __init__(self, learner: Learner, folder: RunFolder | None = None, observer: Observer | None = None) -> None:
        self.learner, self.folder = learner, folder
        self.observer: Observer = observer or (lambda event, facts: None)
        self.network, self.fabric = learner.network, learner.fabric
        self.stages = learner.stages

    def run(
        self, train: list[Part], held_out: Mapping[str, list[Part]], resume: bool = False, previous: bool = False
    ) -> None:
        """Train from the start, or from the folder's last checkpoint. The network is then in evaluation mode."""
        with borrowed():
            try:
                self.prepare(train, held_out)
                if resume:
                    if self.checkpoints is None:
                        raise CheckpointError("There is no run folder to resume from; give an earlier run's.")
                    self.progress = self.checkpoints.load(previous)
                    begun = {record["stage"] for record in self.progress.history}  # a run may have been ended early
                    for part, done in product(self.parts, range(self.progress.stage)):
                        if self.stages[done].name in begun:
                            part.note(done)
                progress = self.progress
                epochs = len(progress.history)
                facts = {
                    "examples": sum(part.data.total for part in train),
                    "epochs": epochs,
                    "choice": in_words(self.learner.choice_),
                }
                self.observer("begin", {"stages": self.stages, **facts})
                number: int | None = progress.stage
                while number is not None and number < len(self.stages):
                    self._stage(number, self.stages[number])
                    number = progress.following
            finally:
                draw_from(self.network, None)
                self.network.eval()

    def prepare(self, train: list[Part], held_out: Mapping[str, list[Part]] | None = None) -> None:
        """Put network, data and generators in place; :meth:`run` does this first."""
        fabric, device = self.fabric, self.fabric.device
        self.began, self.progress = time.perf_counter(), Progress()
        self.streams = Streams(self.learner.seed, fabric.global_rank, device)
        draw_from(self.network, self.streams.chance)
        self.module = fabric.setup_module(self.network)
        # Convolutions and normalisations are faster channels last: by a quarter on a CPU, by half on a GPU.
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.parts = [Training(part, self.learner) for part in train]
        self.held_out, self.told = held_out or {}, set[str]()  # told: signs that it does not learn, which were seen
        self.checkpoints: Checkpoints | None = None if self.folder is None else Checkpoints(self.folder, self)

    def begin_stage(self, stage: Stage) -> list[float]:
        """Make the stage's optimiser and its memory of the examples; gives the learning rates it starts from."""
        optimizer: Any = self.fabric.setup_optimizers(make_optimizer(stage, self.module.parameters()))
        self.optimizer = optimizer
        begins = {part.shape: partial(part.begin, self.number(stage), stage.name) for part in self.parts}
        for objective in of_every_shape(begins):
            if self.fabric.device.type == "cuda":
                objective.record(Graphed)
        self.outputs = Outputs(self)
        for part in self.parts:
            part.judge = Judge(part, self.streams.dice)
        return [group["lr"] for group in optimizer.param_groups]

    def number(self, stage: Stage) -> int:
        """Which of the stages this one is, by its name."""
        return [each.name for each in self.stages].index(stage.name)

    @property
    def seconds(self) -> float:
        """Wall-clock time of the run so far, including the time before an interruption."""
        return time.perf_counter() - self.began + self.progress.seconds

    def _save(self) -> None:
        if self.checkpoints is not None:
            self.checkpoints.save()

    def _stage(self, number: int, stage: Stage) -> None:
        progress = self.progress
        base = self.begin_stage(stage)
        if number > progress.stage:
            progress.begin_stage(number)
        if self.checkpoints is not None:
            self.checkpoints.restore_stage(stage, self.optimizer)
        if number == 0 and progress.epoch == 0:
            self._save()  # so that a run stopped in its first epoch begins again with the same weights
        for epoch in range(progress.epoch, stage.most):
            began = time.perf_counter()
            record = self.epoch(stage, epoch, base)
            self._check_state(stage, epoch)
            last = epoch + 1 == stage.epochs + progress.waited(stage)
            figures = self._figures(stage, epoch) if last or (epoch + 1) % self.learner.evaluate_every == 0 else {}
            record |= figures
            score = record["feasible"] if stage.keep == "best" else validation_figure(record)
            if stage.keep != "last" and score is not None:
                progress.note(self.network, score)
            if last or (stage.patience and self.fabric.broadcast(progress.stale(record, stage.patience))):
                self._end(stage, epoch, number + 1, figures)
            record["seconds"]["total"] = time.perf_counter() - began
            record = plain(record)
            progress.add(record)
            found = signs(progress.history) if self.fabric.is_global_zero else {}
            for name in found.keys() - self.told:
                warnings.warn(found[name], stacklevel=2)
            self.told |= found.keys()
            if self.folder and self.fabric.is_global_zero:
                self.folder.append(record)
            self._save()
            if self.fabric.broadcast(ends(self.observer("epoch", record))):
                self._end(stage, epoch, len(self.stages), figures)
                self._save()
            if progress.following is not None:
                break
        self.module.eval()
        self.observer("stage", {"stage": stage.name, "result": progress.results.get(stage.name, {})})

    def _end(self, stage: Stage, epoch: int, following: int, figures: dict[str, Any]) -> None:
        """A stage ends after this epoch: its network is the one to keep, its ``figures`` are the stage's results."""
        if self.progress.best:
            self.network.load_state_dict(self.progress.best)
        if self.progress.best or not figures:
            figures = self._figures(stage, epoch)
        if self.held_out:
            self.progress.results[stage.name] = plain(results(figures))
        self.progress.following = following

    def _figures(self, stage: Stage, epoch: int) -> dict[str, Any]:
        """The network on held-out data, if there are any."""
        self.module.eval()
        found: dict[str, Any] = {}
        for name, parts in self.held_out.items():
            with self._named(stage, epoch, f"on the {name} data".__str__):
                found |= named(name, evaluate(parts, self.network))
        return found

    def epoch(self, stage: Stage, epoch: int, base: list[float]) -> dict[str, Any]:
        """One pass over this process's examples: walk the chains, step the network."""
        tally, watch, waited = Tally(self), FiniteOutputs(), self.progress.waited(stage)
        tick = epoch - waited  # how far γ and the learning rate have come
        stopwatch = tally.stopwatch
        noise = self.parts[0].noise if stage.objective.weak else None
        level = 0.0 if noise is None else noise.level(self.progress.history)
        number = self.number(stage)
        size = max(1, int(stage.batch_size or self.learner.batch_size) // self.fabric.world_size)
        batches = mixed(self.parts, size, self.streams.order)

        def named() -> AbstractContextManager[None]:
            return self._named(stage, epoch, lambda: f"batch {watch.step + 1} of {len(batches)}")

        descent = Descent(self, stage, tick, base, watch, [len(index) for _, index in batches])
        self.module.train()
        for step, (part, index, x) in enumerate(walked(batches)):
            x, rows, anchors = part.labels.join(x, part.data.at(index), self.streams.order)
            with named(), stopwatch("network"), descent.apart(step):
                watch.begin(step, rows)
                output = self.outputs(x)
                check_rows(output, len(rows))
            moment = Moment(number, tick, level, (tick + step / len(batches)) / stage.epochs)
            with named():
                judged = part.judge(output, index, rows, anchors, moment, watch, stopwatch)
            with named(), stopwatch("network"):
                descent.learn(judged, output, step)
            tally.add(judged)
            self.observer("batch", {"stage": stage.name, "epoch": epoch, "step": step, "steps": len(batches)})
        with named():
            watch.settle()
        more = {"waited": waited} if stage.wait else {}
        return tally.record(stage, epoch, tick) | more | ({} if noise is None else {"noise": level})

    @contextmanager
    def _named(self, stage: Stage, epoch: int, where: Callable[[], str]) -> Iterator[None]:
        """Add stage, epoch and ``where`` in the epoch to the error for a number that is not finite."""
        try:
            yield
        except NonFiniteOutput as error:
            kept = ""
            if self.folder and self.folder.has_checkpoint():  # numbers may grow for a while before they overflow
                late = "; if that is too late, resume from the one before it (previous=True)"
                kept = f" The last checkpoint is in {self.folder.path}{late if self.progress.history else ''}."
            place = f"Stage {stage.name}, epoch {epoch + 1} of {stage.epochs}, {where()}"
            raise NonFiniteOutput(f"{place}: {error}{kept}") from error

    def _check_state(self, stage: Stage, epoch: int) -> None:
        """Nothing that is not finite may get into a checkpoint: the last step is not followed by another batch."""
        with self._named(stage, epoch, lambda: "after its last batch"):
            objectives = [part.objectives[self.number(stage)] for part in self.parts]
            if found := broken(everything(self.network, self.optimizer, objectives)):
                raise NonFiniteOutput(
                    f"The {found[0]} holds NaN or infinity. Lower the learning rate, or look for large inputs."
                )
