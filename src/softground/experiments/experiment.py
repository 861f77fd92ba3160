"""An experiment: all parts of a run, and the method to run it.

``Experiment.run(folder)`` serves the command line, benchmarks, the paper's tables and Python users alike: figures of
the untrained network, training, summary, report and model, all in one folder.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from ..data.anchors import Anchors
from ..data.known import reveal
from ..dice import seeded, stream
from ..errors import CheckpointError, DataError, InverseError, LearnerError, SoftgroundError
from ..files import Json
from ..learner import Learner
from ..learner.datasets import Data, data_with_tasks
from ..learner.observers import together
from ..learner.plan import Augment
from ..learner.settings import TrainingSettings
from ..learner.stage import Stages
from ..networks import Ensemble
from ..retired import SETTINGS
from ..runs import RunFolder
from ..runs.folder import CONFIG
from ..task import Family, Task
from .named import named_recipe, problem_of, recipe_of
from .place import Place, deterministic
from .recipe import Recipe, checked


@dataclass(frozen=True, eq=False)
class Experiment(TrainingSettings):
    """A task, a network and data, ready to train.

    Parameters
    ----------
    task, network, train, test, validation
        The task, the network, and the training, test and validation examples. Choose settings on the validation part.
    stages, augment
        See :class:`~softground.learner.Learner`, as for the training settings, which are given by name.
    note
        One sentence on the source of the data.
    recipe, place
        The settings of an experiment that was made by name.
    anchors
        Additional training data: labelled inputs of single symbols.
    more
        Further test sets by name, evaluated at the end.
    again
        A function that makes the networks of further starts; see the learner.

    >>> experiment = Experiment.named("addition", epochs=1, train_size=200)
    >>> experiment.recipe.kernel, len(experiment.train)
    ('exact', 200)
    """

    task: Task | Family
    network: nn.Module
    train: Data
    test: Data | None = None
    stages: Stages | None = None
    augment: Augment | None = None
    note: str = ""
    recipe: Recipe | None = None
    place: Place = field(default_factory=Place)
    data_dir: Path | None = None
    validation: Data | None = None
    anchors: Anchors | None = None
    more: Mapping[str, Data] = field(default_factory=dict)
    again: Callable[[int], nn.Module] | None = None

    @classmethod
    def named(cls, task: str, preset: str = "best", **options: Any) -> Experiment:
        """The experiment that ``softground train TASK`` runs with these options."""
        recipe, place = named_recipe(task, preset, **options)
        return cls.of_recipe(recipe, place, options.get("data_dir"))

    @classmethod
    def of_recipe(cls, recipe: Recipe, place: Place | None = None, data_dir: Path | None = None) -> Experiment:
        """The experiment that a recipe describes, with data from ``data_dir`` if the problem reads any."""
        place, problem = place or Place(), problem_of(recipe, data_dir)
        task = problem.task(recipe.inverse, **place.solver(recipe.inverse))
        data, anchors = problem.load(recipe.seed).hold_out(recipe.validation, stream(recipe.seed, "validation")), None
        if recipe.known:
            data = dataclasses.replace(data, train=reveal(data.train, recipe.known, stream(recipe.seed, "known")))
        shapes = data_with_tasks(task, data.train)
        _, longest, some, _ = max(shapes, key=lambda shape: shape[1].space.sites)
        if recipe.anchors or recipe.anchor_symbols:
            chance = stream(recipe.seed, "anchors")
            anchors = Anchors.of(some, longest.space, recipe.anchors or 1, chance, recipe.anchor_symbols)

        def network(start: int = 0) -> nn.Module:
            with seeded(stream(recipe.seed, f"weights {start}" if start else "weights")):
                members = [problem.network(recipe, some.x, longest.space) for _ in range(recipe.members)]
                return members[0] if recipe.members == 1 else Ensemble(members)

        each: Any = {shape: problem.stages(recipe, own) for shape, own, *_ in shapes}
        stages: Stages = each.get(None, each)
        return cls(
            task,
            network(),
            data.train,
            data.test,
            stages,
            augment=problem.distortion if recipe.augment else None,
            note=data.note,
            recipe=recipe,
            place=place,
            data_dir=data_dir,
            validation=data.validation,
            anchors=anchors,
            more=data.more,
            again=network,
            **recipe.chosen(),
        )

    @classmethod
    def of_run(
        cls, folder: RunFolder, data_dir: Path | None = None, recipe: Recipe | None = None, **place: Any
    ) -> Experiment:
        """The experiment in a run folder; given values replace its own."""
        recipe, where = recipe or recipe_of(folder), folder.path / CONFIG
        kept = folder.read_config().get("place")
        kept = {name: each for name, each in kept.items() if name not in SETTINGS} if isinstance(kept, dict) else {}
        lay = kept.pop("data_dir", None)
        made = Place(**checked(Place, kept, where) | place)
        try:
            return cls.of_recipe(recipe, made, data_dir or (Path(str(lay)) if lay else None))
        except (InverseError, LearnerError, MemoryError, OverflowError, RecursionError) as error:
            raise CheckpointError(
                f"{where}: the run it describes cannot be set up here ({type(error).__name__}: {error}). Restore the "
                "file, or use a machine that has what it needs."
            ) from error

    @property
    def held_out(self) -> Data:
        """The test data; raises if there are none."""
        if self.test is None:
            raise DataError("This experiment has no test data; give some to evaluate on.")
        return self.test

    def learner(self) -> Learner:
        """Make the learner that trains it."""
        return Learner(
            self.task,
            self.network,
            self.stages,
            settings=self,
            augment=self.augment,
            device=self.place.device,
            recipe=self.recipe and self.recipe.to_json(),
            place=self.place.to_json() | {"data_dir": self.data_dir and str(Path(self.data_dir).resolve())},
            note=self.note,
            again=self.again,
        )

    def run(
        self,
        folder: Path | str | None = None,
        *,
        resume: bool = False,
        previous: bool = False,
        quiet: bool = False,
        silent: bool = False,
    ) -> Json:
        """Train in a run folder (a new one under ``runs/`` by default), and return what ``summary.json`` holds.

        ``quiet`` shows no progress, ``silent`` prints nothing. Ctrl-C prints the command to continue.
        """
        from rich.console import Console

        from ..report import loggers
        from ..report.facts import Facts
        from ..report.progress import Display
        from ..report.screen import last_screen

        if not resume:  # a run must resume on a machine without them
            loggers.require(self.place)
        with deterministic(self.place.deterministic), ExitStack() as stack:
            learner = self.learner()
            main = learner.fabric.is_global_zero
            made = "" if resume or not main else str(RunFolder.create(folder, self.task.name).path)
            run = RunFolder(Path(str(folder) if resume else learner.fabric.broadcast(made)))
            console = Console(quiet=not main or silent, highlight=False, markup=False)
            console.soft_wrap = not console.is_terminal  # in a file or a pipe, a line is a line
            if not quiet:
                parameters = sum(p.numel() for p in self.network.parameters())
                count = sum(len(part) for _, _, part, _ in data_with_tasks(self.task, self.train))
                facts = f"{count:,} training examples, network of {parameters:,} parameters"
                how = f", {self.task}" if isinstance(self.task, Family) else f", inverse {self.task.inverse!r}"
                if isinstance(self.task, Task) and self.task.open:  # printed once it is chosen
                    how = ""
                console.print(f"{self.note}\n{facts} on {learner.fabric.device}{how}".strip())
                console.print(f"Run folder: {run.path}", soft_wrap=True)
            board = loggers.logs(self.place, run, learner.recipe) if main else None
            display = stack.enter_context(Display(console)) if main and not (quiet or silent) else None
            observer = together(board, display) if main else None
            try:
                learner.fit(
                    self.train,
                    self.test,
                    self.validation,
                    more=self.more,
                    anchors=self.anchors,
                    out=run.path,
                    resume=resume,
                    previous=previous,
                    observer=observer,
                    quiet=True,
                )
            except SoftgroundError:
                if main and not resume:  # a new folder that is still empty is of no use
                    with suppress(OSError):
                        run.path.rmdir()
                raise
            except KeyboardInterrupt:
                shell, python = f"softground resume {shlex.quote(str(run.path))}", "run(folder, resume=True)"
                raise KeyboardInterrupt(f"Go on with: {shell if self.recipe else python}") from None
        if not main:
            return {}
        last_screen(console, Facts.read(run), run.path)
        return {"run_folder": str(run.path), **run.read_summary()}
