"""What each command does."""

from __future__ import annotations

import dataclasses
import json
import shlex
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console

from ..errors import CheckpointError
from ..learner import Learner
from ..learner.checkpoint import network_of
from ..report import Display, draw_result, result_table, tensorboard, title, together
from ..report.write import REPORT
from ..runs import RunFolder
from ..runs.folder import CONFIG
from ..tasks import Experiment, Options
from ..tasks.experiment import Device
from .config import as_json, experiment_of, read_options
from .determinism import deterministic, switch_on

Run = Annotated[Path, tyro.conf.Positional]


def train(options: Options) -> dict[str, Any]:
    """Start a run."""
    if options.tensorboard:
        tensorboard.require()
    with deterministic(options.deterministic):
        experiment = options.build()
        learner = _learner(options, experiment)
        made = RunFolder.create(options.out, options.name).path if learner.fabric.is_global_zero else ""
        folder = RunFolder(Path(learner.fabric.broadcast(str(made))))
        return _run(options, experiment, learner, folder, resume=False)


@dataclass(frozen=True)
class Resume:
    """Go on with an interrupted run; the result is the same bits as if it had never stopped."""

    run_folder: Run
    """The run folder."""
    previous: bool = False
    """Start from the checkpoint before the last, if the last is damaged."""
    quiet: bool = False
    """No progress display."""
    json: bool = False
    """Print the summary as one JSON object, and nothing else."""

    def run(self) -> None:
        """Resume."""
        folder = RunFolder.open(self.run_folder)
        options = read_options(folder)
        board = options.tensorboard and tensorboard.available()  # a run must resume on a machine without it
        now = {"quiet": self.quiet, "json": self.json, "tensorboard": board}
        options = dataclasses.replace(options, **now)  # type: ignore[type-var]
        with deterministic(options.deterministic):
            experiment = experiment_of(options, folder)
            learner = _learner(options, experiment)
            _run(options, experiment, learner, folder, resume=True, previous=self.previous)


@dataclass(frozen=True)
class Evaluate:
    """Evaluate a run's network on its test data."""

    run_folder: Run
    """The run folder."""
    previous: bool = False
    """Use the checkpoint before the last."""
    device: Device = "auto"
    """Where to compute."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self) -> None:
        """Evaluate."""
        folder = RunFolder.open(self.run_folder)
        options, experiment, learner = load_run(folder, self.previous, self.device)
        figures = learner.evaluate(experiment.test)
        if learner.fabric.is_global_zero and self.json:
            print(json.dumps(figures))
        elif learner.fabric.is_global_zero:
            Console().print(result_table(f"{options.name}: {folder.path}", {"now": figures}))


def load_run(folder: RunFolder, previous: bool = False, device: Device = "auto") -> tuple[Options, Experiment, Learner]:
    """A run as it was started, with the network of its checkpoint."""
    options = dataclasses.replace(read_options(folder), device=device)  # type: ignore[type-var]
    if options.deterministic:
        switch_on()
    weights = network_of(folder, previous)
    experiment = experiment_of(options, folder)
    try:
        experiment.network.load_state_dict(weights)
    except RuntimeError as error:
        raise CheckpointError(
            f"The checkpoint in {folder.path} does not fit the run's network: {error}. Restore both from one backup."
        ) from error
    return options, experiment, _learner(options, experiment)


def _run(
    options: Options, experiment: Experiment, learner: Learner, folder: RunFolder, resume: bool, previous: bool = False
) -> dict[str, Any]:
    """Train with ``learner`` and report; Ctrl-C says how to go on."""
    main = learner.fabric.is_global_zero
    console = Console(quiet=not main or options.json, highlight=False)
    console.soft_wrap = not console.is_terminal  # in a file or a pipe, a line is a line
    parameters = sum(p.numel() for p in experiment.network.parameters())
    if not options.quiet:
        count = len(experiment.train)  # type: ignore[arg-type]
        facts = f"{count:,} training examples, network of {parameters:,} parameters on {learner.fabric.device}"
        facts += f", inverse {experiment.task.inverse!r}"
        console.print(f"{experiment.note}\n{facts}", markup=False)
        console.print(f"Run folder: {folder.path}", markup=False, soft_wrap=True)
    try:
        display = Display(console) if main and not (options.quiet or options.json) else None
        board = tensorboard.TensorBoard(folder) if main and options.tensorboard else None
        with display or nullcontext():
            learner.fit(
                experiment.train,
                experiment.test,
                out=folder,
                resume=resume,
                previous=previous,
                observer=together(board, display),
            )
    except KeyboardInterrupt:
        if not (folder.path / CONFIG).exists():
            raise
        raise KeyboardInterrupt(f"Go on with: softground resume {shlex.quote(str(folder.path))}") from None
    if not main:
        return {}
    summary = learner.summary_
    moments = {"before": summary["before"]}
    moments |= {f"after {title(name)}": figures for name, figures in learner.results_.items()}
    console.print(result_table(f"{options.name}, {summary['wall_seconds']:.0f} s", moments))
    if draw_result(picture := folder.path / "result.png", learner, experiment.test):
        console.print(f"Picture: {picture}", markup=False, soft_wrap=True)
    console.print(f"Report: {folder.path / REPORT}", markup=False, soft_wrap=True)
    console.print(f"Run folder: {folder.path}", markup=False, soft_wrap=True)
    if options.json:
        print(json.dumps({"run_folder": str(folder.path), **folder.read_summary()}))
    return summary


def _learner(options: Options, experiment: Experiment) -> Learner:
    return Learner(
        experiment.task,
        experiment.network,
        experiment.stages,
        batch_size=experiment.batch_size,
        seed=options.seed,
        augment=experiment.augment,
        device=options.device,
        evaluate_every=options.evaluate_every,
        recipe=as_json(options),
        note=experiment.note,
    )
