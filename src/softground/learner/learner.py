"""The learner: fit, predict, evaluate. The training loop is in :mod:`softground.learner.loop`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from ..constraints.program import Program
from ..data.anchors import Anchors
from ..data.inputs import Inputs
from ..errors import DataError, LearnerError, Setting
from ..files import Json
from ..notebook import Results, as_html, network_facts, task_facts
from ..preparing import reporter, told
from ..runs.folder import RunFolder
from ..task import Family, Task
from .datasets import Data, checked_names, inputs_of, parts_of, seen_in, spaces_of, unserved
from .device import chosen_fabric, make_fabric, precision_of
from .evaluation import beliefs, look_at, misfits
from .grounding import ground
from .loop import Loop
from .observers import Observer, together
from .open_choices import settle
from .plan import Augment, Plan
from .restarts import Failure, failures_of
from .run_folder import MODEL, figures_after_training, figures_before_training, finish, read_all, run_folder, suspects
from .settings import TrainingSettings
from .stage import Stages, grounding_stages, refuse_without_validation, stages_by_shape, whole_number
from .verdict import headline, verdict_of
from .verdict_figures import unfinished, verdict_figures

if TYPE_CHECKING:
    from lightning_fabric import Fabric

    from ..model import Model


class Learner(Plan):
    """Train a network to recognise symbols from answers alone.

    Parameters
    ----------
    task
        Symbols, rule and inverse; or a :class:`~softground.Family` of such tasks, one for each shape of the examples.
    network
        Any module from a batch of inputs to ``[batch, sites, space.outputs]``.
    stages
        The stages of training, in order; see :func:`grounding_stages`, the default. For a family, a function
        ``stages(task)`` or a dict of stages by shape, because each shape has its own teachers.
    settings
        How to train, as :class:`TrainingSettings`; each setting is also a keyword: ``batch_size``, ``accumulate``,
        ``clip``, ``unexplained``, ``evaluate_every``, ``precision``, ``seed``, ``noise``, ``scaled``.
    augment
        Optional distortion ``augment(x, generator)`` of each training batch.
    device
        ``"auto"``, ``"cpu"`` or ``"cuda"``. Under ``torchrun`` every process takes its own.
    fabric
        Your own ``lightning.fabric.Fabric`` in place of ``device`` and ``precision``: one device, or launched DDP.
    workers
        Processes that read a data set other than tensors; 0 reads it in this process.
    recipe, place, note
        The recipe and place of the run as JSON, and a sentence about it. The run folder keeps all three. A run can be
        resumed in any place, with the same recipe.
    again
        ``again(k)`` makes the network of the k-th further start, which follows a failed one
        (:mod:`softground.learner.restarts`). By default, a further start begins with the given weights.

    Attributes
    ----------
    history_
        One record per complete epoch, as in ``metrics.jsonl``.
    results_
        Test figures after each stage, and validation figures as ``validation_…``. The last stage also has figures of
        single symbols (F1, collapse, calibration error) and of further test sets.
    choice_
        The chosen inverse, by shape or the task's name: the reason, its cost, and the inverses refused.
    grounding_
        The ways of grounding of all starts and the reason, if the learner chose them.
    starts_, failures_
        How each start ended; signs of failure in the kept one. Both use the training answers only.
    verdict_
        One sentence on what was learnt, its ``kind``, and the data behind it; see :mod:`softground.learner.verdict`.
    suspects_
        With a noise level, the training examples whose answer is probably wrong.
    seconds_
        Wall-clock time of the run, including the time before an interruption.
    summary_
        The contents of ``summary.json``, if the run has a folder. Training figures are averages over processes.
    """

    def __init__(
        self,
        task: Task | Family,
        network: nn.Module,
        stages: Stages | None = None,
        *,
        settings: TrainingSettings | None = None,
        augment: Augment | None = None,
        device: Literal["auto", "cpu", "cuda"] = "auto",
        fabric: Fabric | None = None,
        workers: int = 0,
        recipe: Mapping[str, object] | None = None,
        place: Mapping[str, object] | None = None,
        note: str = "",
        again: Callable[[int], nn.Module] | None = None,
        **given: Any,
    ) -> None:
        if not isinstance(network, nn.Module):
            raise LearnerError.of({"network": network}, "expected a module of torch, such as PerSite(…) or mlp(…).")
        self.task = task
        self.space, self.fitted = spaces_of(task), False
        self.network = network
        self.described = stages_by_shape(task, grounding_stages if stages is None else stages)
        self.staged = self.described  # once the learner fits, with what was left open
        self.settings = (settings or TrainingSettings()).changed(**given)
        self.augment, self.workers = augment, whole_number("workers", workers, least=0)
        self.recipe, self.place = recipe, place
        self.again, self.ways = again, ["plain"]
        self.choice_, self.grounding_ = {}, None
        self.note = note
        self.fitting = Lock()
        self.fabric = chosen_fabric(fabric, device, self.settings.precision)
        self.precision = precision_of(self.fabric)
        self.device = self.fabric.device

    def fit(
        self,
        train: Data,
        test: Data | None = None,
        validation: Data | None = None,
        *,
        more: Mapping[str, Data] | None = None,
        anchors: Anchors | None = None,
        out: Path | str | None = None,
        resume: bool = False,
        previous: bool = False,
        observer: Observer | None = None,
        quiet: bool = False,
    ) -> Learner:
        """Train on pairs (x, y).

        Parameters
        ----------
        train, test, validation
            Map-style data sets of ``(x, y)``. A stage's ``patience`` and ``keep="validation"`` need the last one. For a
            family, :meth:`Examples.ragged <softground.Examples.ragged>` or a dict of data sets by shape.
        more
            Further test sets by name, such as ``{"ood": …}``, evaluated once at the end of the run. The last stage's
            results hold their figures, as ``ood_…``.
        anchors
            Additional training data: labelled inputs of single symbols.
        out
            A new run folder for settings, metrics, checkpoints, summary, report and model. One process at a time can
            train in it.
        resume, previous
            Continue from the last checkpoint in ``out``, or from the one before it. Settings, data and rule must be
            unchanged.
        observer
            A function ``observer(event, facts)``, called after every epoch. It may end the run early; see
            :mod:`softground.learner.observers`.
        quiet
            Show no progress and no verdict. Otherwise both go to stderr: bars on a terminal, one changing line in a
            notebook, one line per epoch elsewhere.
        """
        if observer is not None and not callable(observer):
            raise LearnerError.of({"observer": observer}, "expected a function observer(event, facts).")
        if previous and not resume:
            raise LearnerError.of(
                {"previous": True}, " without ", Setting("resume", True), "; it says which checkpoint to go on from."
            )
        if not self.stages:
            raise LearnerError(
                "This learner is a copy, which can only predict. To train on, make a Learner with stages."
            )
        if validation is None:
            refuse_without_validation(self.stages)
        given = {"test": test, "validation": validation}
        held_out = {name: self._parts(data) for name, data in given.items() if data is not None}
        share = self.fabric.global_rank, self.fabric.world_size
        trained = parts_of(self.task, train, self.device, self.workers, share)
        further = {name: self._parts(data) for name, data in checked_names(more or {}).items()}
        if anchors is not None and not isinstance(anchors, Anchors):
            raise DataError.of({"anchors": anchors}, "expected Anchors(inputs, symbols).")
        for part in trained:
            part.data.anchors = anchors
        for part in (*trained, *(part for parts in (*held_out.values(), *further.values()) for part in parts)):
            part.data.check(part.task.space)
        look_at(trained, self.network)
        by_shape = {part.shape: part.data for part in trained}
        for own in (*held_out.values(), *further.values()):
            look_at(own, self.network, lambda shape: by_shape[shape].seen if shape in by_shape else None)
        for part in trained:
            if part.shape not in self.staged:
                raise unserved(part.shape, torch.tensor(part.places), self.staged)
            if isinstance(part.task.constraint, Program):
                part.task.constraint.check_steady()
            if anchors is None and part.data.known is None and all(y is None for y in part.data.answers):
                weak = [stage.name for stage in self.staged[part.shape] if stage.objective.weak]
                if weak:
                    raise DataError(
                        f"All {len(part.data)} answers are None, unknown, and no symbol is known: there is nothing to "
                        f"learn in {', '.join(weak)}. Give answers, known symbols or anchors."
                    )
        kept = RunFolder.open(out) if out is not None and resume else None
        if not self.fitting.acquire(blocking=False):
            raise LearnerError(
                "This learner is fitting already. Wait until it ends, or fit another with its own network."
            )
        with ExitStack() as stack:
            stack.callback(self.fitting.release)
            self.staged = {shape: list(stages) for shape, stages in self.described.items()}
            self.choice_ = settle(self, trained, kept, quiet)
            self.grounding_ = ground(self, trained, kept)
            folder = stack.enter_context(run_folder(out, self, trained, held_out.get("validation"), resume))
            stack.enter_context(misfits(self.network, trained))
            self.input_, self.seen, self.fitted = inputs_of(trained), seen_in(trained), True
            if folder and self.fabric.is_global_zero and not resume:
                self.save(folder.path / MODEL)  # so that an interrupted run can be read without its data
            first = figures_before_training(self, held_out, folder) if folder and held_out else {}
            show, main = reporter(), self.fabric.is_global_zero
            if folder and main:
                observer = together(show.watch(self, train, folder.path), observer)
            with show.shown(observer, quiet or not main, self.fabric.loggers) as observing:
                self.loop = Loop(self, folder, observing)
                try:
                    self.loop.run(trained, held_out, resume, previous)
                finally:  # Ctrl-C leaves the complete epochs too
                    progress = self.loop.progress
                    self.history_, self.seconds_ = progress.history, self.loop.seconds
                    self.results_ = Results(progress.results)
                    self.starts_, self.verdict_ = progress.starts, unfinished(self, progress.history)
                self.input_, self.seen = inputs_of(trained), seen_in(trained)
                for part in trained:
                    if part.data.inputs is not None:  # warns about probabilities in place of logits
                        next(beliefs(part.space, self.network, part.data.first(2)))
                    if isinstance(part.data.inputs, Tensor) and Inputs.of(part.data.inputs) != part.data.seen:
                        warnings.warn(
                            "The training inputs were changed while the network was trained on them: the run is not "
                            "what its settings and data say. Give a copy, x.clone(), to whatever changes them.",
                            stacklevel=2,
                        )
                parts, found, read = self.loop.parts, None, None
                looked = figures_after_training(self, progress, held_out, further)
                self.results_ = Results(progress.results)
                if self.settings.noise:
                    self.suspects_ = found = suspects(parts, self.history_)
                if folder:
                    told("Reading the training data")
                    read = read_all(self, parts, "After training, on the training data")
                figures, entries = verdict_figures(self, parts, progress, held_out, looked.readings, read)
                self.verdict_ = verdict_of(figures)
                if folder and read:
                    entries = {"verdict": self.verdict_.to_json(), "headline": headline(figures)} | entries
                    self.summary_ = finish(
                        self, parts, progress, self.seconds_, found, looked, first, read, entries, folder
                    )
                    if main:
                        told("Writing the report")
                        codes = [
                            [part.predicted[0] for part in each] for each in (read, looked.readings.get("test", ()))
                        ]
                        show.report(self, train, test, folder.path, codes)
                        self.save(folder.path / MODEL)
                self.loop.observer("end", {"verdict": self.verdict_})
        return self

    def _repr_html_(self) -> str:
        known = {"verdict": vars(self).get("verdict_"), "epochs": len(vars(self).get("history_", ())) or None}
        whole = as_html("Learner", known | task_facts(self.task) | network_facts(self.network))
        return whole + Results(vars(self).get("results_", {}))._repr_html_()

    def __repr__(self) -> str:
        state = known if (known := vars(self).get("verdict_")) else "not fitted"
        return f"Learner({self.task.name!r}, {type(self.network).__name__}: {state})"

    @property
    def failures_(self) -> tuple[Failure, ...]:
        """Signs of failure in the start that was kept."""
        return failures_of(self.starts_)

    @property
    def model(self) -> Model:
        """A model for prediction. It shares the learner's network, so further training changes both."""
        from ..model import Model

        shape, dtype = getattr(self, "input_", (None, None))
        return Model(self.network, self.space, self.task, self.device, shape, dtype, self.task.name, seen=self.seen)

    def save(self, path: Path | str) -> None:
        """Write the network, its space and, if it can be saved, the rule; see :func:`softground.load`."""
        self.model.save(path)

    def __getstate__(self) -> Json:
        """Copies keep the history and can predict. Chains, optimisers and processes are not copied."""
        return {
            name: value for name, value in vars(self).items() if name not in ("loop", "fabric", "fitting", "again")
        } | {"described": {}, "staged": {}}

    def __setstate__(self, state: Json) -> None:
        vars(self).update(state)
        self.again = None
        self.fabric = make_fabric(self.device.type)  # type: ignore[arg-type]
        self.device = self.fabric.device
