r"""Algorithm 1 as one explicit loop: stages of epochs of batches, over Lightning Fabric.

The same code runs on a CPU, a GPU, and several of either under ``torchrun``. Every process holds only the examples
``rank, rank + world, …`` of each shape, and their chains. All processes deal the same batches, take their own examples
of each, and divide by the total count. Together they take the same steps as one process.

**Gradient steps.** With ``accumulate`` k, the gradients of k batches are averaged before the optimiser takes a step;
the last group of an epoch may be smaller. A batch of b examples counts by its share of the group's B,

.. math:: g = \sum_{\text{batches}} \frac{b}{B}\, \nabla L_\text{batch},

so a mean loss over examples has the gradient of one batch of B. Chains walk with every batch. Batch normalisation and
baselines see the small batches. With ``clip`` c, a gradient g of a larger norm becomes g · c/‖g‖.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from ..dice import Streams, borrowed, untouched
from ..errors import CheckpointError, NonFiniteOutput, Setting
from ..figures import flat_names, results
from ..files import Json
from ..networks.ensemble import Ensemble
from ..networks.layers import draw_from
from ..runs.folder import RunFolder, plain
from ..training.members import side_by_side
from ..training.step import Half, Moment, lesson
from ..training.step import step as take
from .datasets import Part
from .evaluation import evaluate
from .grounding import SHORT, grounding_in_words
from .observers import Observer, ends_run, learning_problems, wants_batches
from .open_choices import choices_in_words
from .outputs import Outputs, not_finite, saved_tensors
from .plan import Plan
from .recording import RecordedHalf
from .restarts import best_of, judged
from .run_state import Checkpoints, Progress, copied, validation_figure
from .stage import Stage, make_optimizer
from .tally import Stopwatch, Tally
from .trained_part import TrainedPart, deal_batches, of_every_shape, with_inputs

LARGEST = torch.finfo(torch.float32).max


class Loop:
    """One training run of a learner.

    Parameters
    ----------
    learner
        The learner with its task, network, stages and settings.
    folder
        The folder for metrics and checkpoints, or None.
    observer
        A function called after each event; it may end the run (:mod:`softground.learner.observers`).
    """

    def __init__(self, learner: Plan, folder: RunFolder | None = None, observer: Observer | None = None) -> None:
        self.learner, self.folder = learner, folder
        self.observer: Observer = observer or (lambda event, facts: None)
        self.shows_batches = observer is not None and wants_batches(observer)
        self.network, self.fabric = learner.network, learner.fabric
        self.stages = learner.stages
        self.each = len(self.stages) // len(learner.ways)  # stages of one start
        self.began, self.progress = time.perf_counter(), Progress()

    def run(
        self, train: list[Part], held_out: Mapping[str, list[Part]], resume: bool = False, previous: bool = False
    ) -> None:
        """Train from the start or from the folder's last checkpoint; leave the network in evaluation mode."""
        with borrowed():
            try:
                self.prepare(train, held_out)
                if resume:
                    if self.checkpoints is None:
                        raise CheckpointError(
                            "There is no run folder to resume from; give the folder of an earlier run."
                        )
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
                    "choice": [*grounding_in_words(self.learner), *choices_in_words(self.learner.choice_)],
                }
                self.observer("begin", {"stages": self.stages[: self.each * (1 + len(progress.starts))], **facts})
                number: int | None = progress.stage
                while number is not None and number < len(self.stages):
                    self._stage(number, self.stages[number])
                    number = progress.following
            finally:
                draw_from(self.network, None)
                self.network.eval()

    def prepare(self, train: list[Part], held_out: Mapping[str, list[Part]] | None = None) -> None:
        """Set up network, data and generators; :meth:`run` does this first."""
        fabric, device = self.fabric, self.fabric.device
        self.streams, self.stopwatch = (
            Streams(self.learner.settings.seed, fabric.global_rank, device),
            Stopwatch(device),
        )
        draw_from(self.network, self.streams.chance)
        self.module = fabric.setup_module(self.network)
        # Convolutions and normalisations are faster channels last: by a quarter on a CPU, by half on a GPU.
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        lap = self.stopwatch.lap
        self.parts = [TrainedPart(part, self.learner, self.streams, self.total, lap) for part in train]
        self.held_out, self.warned = held_out or {}, set[str]()  # problems already warned about
        self.checkpoints: Checkpoints | None = None
        if self.folder is not None:
            self.checkpoints = Checkpoints(self.folder, self.learner, self.parts, self.streams)

    def begin_stage(self, stage: Stage) -> list[float]:
        """Make the stage's optimiser, teachers and memory; return its initial learning rates."""
        optimizer: Any = self.fabric.setup_optimizers(make_optimizer(stage, self.module.parameters()))
        self.optimizer, number = optimizer, self.number(stage)
        of_every_shape({part.shape: partial(part.begin, number) for part in self.parts})
        self.half: Half = side_by_side if isinstance(self.network, Ensemble) else lesson
        # Recordings are rehearsed, and several processes would not do that in step.
        if self.fabric.device.type == "cuda" and self.fabric.world_size == 1:
            self.half = RecordedHalf(self.half, self.streams.dice)
        self.outputs = Outputs(self.learner, self.module, self.streams)
        return [group["lr"] for group in optimizer.param_groups]

    def total(self, value: Tensor) -> Tensor:
        """The sum of a number over all processes."""
        return value if self.fabric.world_size == 1 else self.fabric.all_reduce(value.clone(), reduce_op="sum")  # type: ignore[return-value]

    def number(self, stage: Stage) -> int:
        """Return the stage's index, found by its name."""
        return [each.name for each in self.stages].index(stage.name)

    @property
    def seconds(self) -> float:
        """Wall-clock time of the run so far, including the time before an interruption."""
        return time.perf_counter() - self.began + self.progress.seconds

    def _save(self) -> None:
        if self.checkpoints is not None:
            self.checkpoints.save(self.progress, self.optimizer, self.seconds)

    def _stage(self, number: int, stage: Stage) -> None:
        progress = self.progress
        if number > progress.stage:
            progress.begin_stage(number)
        if number % self.each == 0 and progress.epoch == 0:
            self._begin_start(number // self.each)
        base = self.begin_stage(stage)
        if self.checkpoints is not None:
            self.checkpoints.restore_stage(stage, self.optimizer, progress.history)
        if number == 0 and progress.epoch == 0:
            self._save()  # so that a run stopped in its first epoch begins again with the same weights
        for epoch in range(progress.epoch, stage.most):
            began = time.perf_counter()
            record = self.epoch(stage, epoch, base)
            self._check_state(stage, epoch)
            last = epoch + 1 == stage.epochs + progress.waited(stage)
            figures = (
                self._figures(stage, epoch) if last or (epoch + 1) % self.learner.settings.evaluate_every == 0 else {}
            )
            record |= figures
            score = record["feasible"] if stage.keep == "best" else validation_figure(record)
            if stage.keep != "last" and score is not None:
                progress.note(self.network, score)
            if last or (stage.patience and self.fabric.broadcast(progress.stale(record, stage.patience))):
                self._end(stage, epoch, number + 1, figures)
            record["seconds"]["total"] = time.perf_counter() - began
            record = plain(record)
            progress.add(record)
            found = learning_problems(progress.history) if self.fabric.is_global_zero else {}
            for name in found.keys() - self.warned:
                warnings.warn(found[name], stacklevel=2)
            self.warned |= found.keys()
            if self.folder and self.fabric.is_global_zero:
                self.folder.append(record)
            self._save()
            if self.fabric.broadcast(ends_run(self.observer("epoch", record))):
                self._end(stage, epoch, len(self.stages), figures)
                self._save()
            if progress.following is not None:
                break
        self.module.eval()
        self.observer("stage", {"stage": stage.name, "result": progress.results.get(stage.name, {})})

    def _end(self, stage: Stage, epoch: int, following: int, figures: Json) -> None:
        """End a stage after this epoch, with the network to keep and with ``figures`` as the stage's results."""
        if self.progress.best:
            self.network.load_state_dict(self.progress.best)
        if self.progress.best or not figures:
            figures = self._figures(stage, epoch)
        if self.held_out:
            self.progress.results[stage.name] = plain(results(figures))
        self.progress.following = following
        if following % self.each == 0 and following == self.number(stage) + 1:
            self._end_start(stage)

    def _begin_start(self, start: int) -> None:
        """Give a further start its weights: a new network's, or the initial ones of the first start."""
        learner, progress = self.learner, self.progress
        if start == 0:
            if learner.settings.restarts and learner.again is None:
                progress.initial = copied(self.network.state_dict())
            return
        self.network.load_state_dict(progress.initial if learner.again is None else learner.again(start).state_dict())

    def _end_start(self, stage: Stage) -> None:
        """Judge a start. After a failure the next start follows, if any; the best one is kept."""
        progress, start = self.progress, self.number(stage) // self.each
        self.module.eval()
        with untouched():
            ended = judged(self.parts, progress.history, self.learner.ways[start], stage.name)
        progress.starts = [*progress.starts[:start], *filter(None, [ended])]
        best = best_of(progress.starts) if progress.starts else ended
        long = sum(each.epochs for each in self.stages[: self.each]) >= SHORT
        if ended is not None and ended.failures and long and start + 1 < len(self.learner.ways):
            progress.kept = copied(self.network.state_dict()) if best is ended else progress.kept
            first = (start + 1) * self.each
            self.observer("failed", {"failures": ended.failures, "stages": self.stages[first : first + self.each]})
            return
        progress.following = len(self.stages)
        if best is not ended:
            assert best is not None
            self.network.load_state_dict(progress.kept)
            if best.stage in progress.results:  # the last results belong to the network that is kept
                progress.results[best.stage] = progress.results.pop(best.stage)
        progress.kept = {}

    def _figures(self, stage: Stage, epoch: int) -> Json:
        """The network's figures on held-out data, if any."""
        self.module.eval()
        found: Json = {}
        for name, parts in self.held_out.items():
            try:
                found |= flat_names(evaluate(parts, self.network), data=name)
            except NonFiniteOutput as error:
                raise self._placed(error, stage, epoch, f"on the {name} data") from error
        return found

    def epoch(self, stage: Stage, epoch: int, base: list[float]) -> Json:
        """One pass over the examples: every batch is one step of the network."""
        tally, watch = Tally(self.parts, self.stopwatch, self.fabric), self.outputs.watch
        waited = self.progress.waited(stage)
        tick = epoch - waited  # the progress of γ and the learning rate
        number, history, begun = self.number(stage), self.progress.history, tick / stage.epochs
        given = self.learner.settings
        batches = deal_batches(self.parts, int(stage.batch_size or given.batch_size), self.streams.order, given.shuffle)
        descent = Descent(self, stage, tick, base, [count for *_, count in batches])
        self.module.train()
        steps = len(batches)
        try:
            for step, (part, index, x, idle) in enumerate(with_inputs(batches)):
                self.stopwatch.begin()
                watch.begin(step, part.data.at, index)
                moment = Moment(number, tick, (tick + step / steps) / stage.epochs, begun, history)
                batch = part.batch(index, x, moment, idle)
                with descent.apart(step) if descent.every > 1 else nullcontext():
                    loss = take(batch, self.outputs, part.teacher, part.terms, self.half)
                    descent.learn(loss, step)
                self.stopwatch.lap("network")
                tally.add(part, batch)
                if self.shows_batches:
                    self.observer("batch", {"stage": stage.name, "epoch": epoch, "step": step, "steps": steps})
            watch.settle()
        except NonFiniteOutput as error:
            raise self._placed(error, stage, epoch, f"batch {watch.step + 1} of {steps}") from error
        more = {"waited": waited} if stage.wait else {}
        return tally.record(stage, epoch, Moment(number, tick, begun, begun, history)) | more

    def _placed(self, error: NonFiniteOutput, stage: Stage, epoch: int, where: str) -> NonFiniteOutput:
        """Add stage, epoch and ``where`` in the epoch to the error for a non-finite number."""
        kept: tuple[str | Setting, ...] = ()
        if self.folder and self.folder.has_checkpoint():  # numbers may grow for a while before they overflow
            late = "; if that is too late, resume from the one before it: ", Setting("previous", True)
            kept = f" The last checkpoint is in {self.folder.path}", *(late if self.progress.history else ()), "."
        said = f"Stage {stage.name}, epoch {epoch + 1} of {stage.epochs}, {where}: "
        return NonFiniteOutput(said, *error.args, *kept)

    def _check_state(self, stage: Stage, epoch: int) -> None:
        """Raise if a checkpoint would hold NaN or infinity; after the last step, no further batch shows it."""
        memories = [part.memory[self.number(stage)] for part in self.parts]
        if found := not_finite(saved_tensors(self.network, self.optimizer, memories)):
            error = NonFiniteOutput(
                f"The {found[0]} holds NaN or infinity. Lower the learning rate, or look for large inputs."
            )
            raise self._placed(error, stage, epoch, "after its last batch")


class Descent:
    """The gradient steps of one epoch, with batches of these ``sizes`` and the optimiser's ``base`` rates.

    ``epoch`` does not count the epochs in which the schedule waits.
    """

    def __init__(self, loop: Loop, stage: Stage, epoch: int, base: list[float], sizes: Sequence[int]) -> None:
        self.loop, self.base, self.sizes = loop, base, sizes
        self.every = loop.learner.settings.accumulate
        groups, rate = math.ceil(len(sizes) / self.every), stage.learning_rate
        self.rates = rate and [rate((epoch + group / groups) / stage.epochs) for group in range(groups)]

    def apart(self, step: int) -> AbstractContextManager[None]:
        """A context for both passes: processes average gradients only with the last batch of a group."""
        last = (step + 1) % self.every == 0 or step + 1 == len(self.sizes)
        context: AbstractContextManager[None] = self.loop.fabric.no_backward_sync(self.loop.module, enabled=not last)
        return context

    def learn(self, loss: Tensor, step: int) -> None:
        """Add the gradient of a batch's loss; step after the last batch of a group."""
        loop, (group, place) = self.loop, divmod(step, self.every)
        if place == 0:
            loop.optimizer.zero_grad()
        own = self.sizes[group * self.every : (group + 1) * self.every]
        loop.fabric.backward(loss if len(own) == 1 else loss * (self.sizes[step] / sum(own)))
        passes = loop.outputs.passes
        loop.outputs.watch.learn(loss, loop.network, None if passes is None else passes.norm)
        if place + 1 < len(own):
            return
        if self.rates is not None:
            set_learning_rate(loop.optimizer, self.base, self.rates[group])
        if loop.learner.settings.clip:
            # Already checked to be finite; on a GPU, another check would wait.
            loop.fabric.clip_gradients(
                loop.module, loop.optimizer, max_norm=loop.learner.settings.clip, error_if_nonfinite=False
            )
        loop.optimizer.step()


def set_learning_rate(optimizer: Optimizer, base: list[float], factor: float) -> None:
    """Scale each parameter group's own rate."""
    for group, rate in zip(optimizer.param_groups, base, strict=True):
        if not abs(rate * factor) <= LARGEST:
            raise NonFiniteOutput(
                f"Its learning rate is {float(rate):g} times {factor:g}; expected a finite number. Correct the factor, "
                "which is the stage's learning_rate."
            )
        group["lr"] = rate * factor
