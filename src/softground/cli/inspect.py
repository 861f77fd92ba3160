"""``softground inspect TASK`` or ``softground inspect FILE.cnf``: what can be known before training."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console

from ..constraints import Cnf
from ..constraints.cnf import dimacs
from ..errors import LearnerError, SoftgroundError
from ..experiments.experiment import problem_of
from ..inspection import Inspection, inspect
from ..inspection.show import renderables
from ..kernels import Kernel
from ..learner.parts import divided
from ..spaces.categorical import Categorical
from ..task import Task
from .options import RunOptions


@dataclass(frozen=True, kw_only=True)
class Look:
    """How closely to look."""

    sample: int = 16
    """Distinct answers to look at."""
    seconds: float = 30.0
    """Time limit, without the time to build the task and its data. What is not done by then is left out, and named."""
    mixing: bool = True
    """Run chains and measure how they mix (needs the extra inspect)."""
    quiet: bool = False
    """No progress display."""
    json: bool = False
    """Print one JSON object instead of tables."""

    def check(self) -> None:
        """Refuse to look at nothing."""
        if self.sample < 1 or not self.seconds > 0:
            raise LearnerError(
                f"--sample {self.sample} --seconds {self.seconds:g} were given; expected at least one answer, and "
                "some time."
            )

    def show(self, found: dict[Any, Inspection]) -> None:
        """Print what was found for each shape; None is the shape of a task that has only one."""
        if self.json and None in found:
            print(found[None].to_json())
        elif self.json:
            print(json.dumps({"shapes": {str(shape): each.as_dict() for shape, each in found.items()}}))
        console = Console(highlight=False, quiet=self.json)
        for shape, each in found.items():
            if shape is not None:
                console.print(f"\nShape {shape}")
            for part in renderables(each):
                console.print(part)

    def look(self, task: Task, answers: Any, name: str, seconds: float, **other: Any) -> Inspection:
        """Inspect one task, and show what is being done."""
        with Console(stderr=True, quiet=self.quiet or self.json).status(f"{name} …") as status:

            def progress(part: str) -> None:
                status.update(f"{name}: {part} …")

            given: dict[str, Any] = {"sample": self.sample, "mixing": self.mixing, "progress": progress}
            return inspect(task, answers, limit=seconds, **given, **other)


@dataclass(frozen=True, kw_only=True)
class Command(Look, RunOptions):
    """What can be known about a task before training."""

    def run(self) -> None:
        self.check()
        experiment = self.experiment(**self._less())
        shapes = divided(experiment.task, experiment.train)
        self.show({s: self._inspected(experiment, s, task, data, len(shapes)) for s, task, data, _ in shapes})

    def _inspected(self, experiment: Any, shape: Any, task: Task, data: Any, count: int) -> Inspection:
        """What is found for one shape, in its part of the time."""
        name = task.name if shape is None else f"{task.name}, shape {shape}"
        support = problem_of(experiment.recipe).support()
        if support is None and task.space.categorical and getattr(data, "symbols", None) is not None:
            support = data
        kernels = kernels_of(experiment, task, data.y)
        return self.look(task, data.y, name, self.seconds / count, kernels=kernels, seed=self.seed, support=support)

    def _less(self) -> dict[str, int]:
        """No more data than an inspection reads, where their number is an option."""
        wanted = {"train_size": 50 * self.sample, "test_size": 16}
        sizes = {name: getattr(self, name, None) for name in wanted}
        return {name: min(size, wanted[name]) for name, size in sizes.items() if isinstance(size, int)}


@dataclass(frozen=True, kw_only=True)
class Formula(Look):
    """What a truth value of a Boolean formula tells of its variables, each read by a head of its own."""

    path: tyro.conf.Positional[Path]
    """A DIMACS CNF file; an input's answer is whether the formula holds."""
    observed: tuple[str, ...] = ()
    """The inputs that occur, as words of 0 and 1 with a digit for each variable (default: all)."""
    seed: int = 0
    """Decides every draw."""

    def run(self) -> None:
        self.check()
        variables, clauses = dimacs(self.path)
        space = Categorical([(False, True)] * max(1, variables), head="site")
        task = Task(space, Cnf(clauses, space), name=self.path.stem)
        rows = [[{"0": False, "1": True}.get(digit, digit) for digit in word] for word in self.observed] or None
        found = self.look(task, [True, False], task.name, self.seconds, support=rows, seed=self.seed)
        self.show({None: found})


def kernels_of(experiment: Any, task: Task, answers: Any) -> dict[str, Kernel]:
    """The kernels of this command's recipe and of the paper's preset, as training would make them."""
    recipe, found = experiment.recipe, {}
    problem = problem_of(recipe)
    for preset in dict.fromkeys([recipe.preset, "paper"]):
        try:
            which = recipe if preset == recipe.preset else problem.recipe(preset)
            objective = problem.grounding(which, task, answers)
        except SoftgroundError:  # a kernel that this problem's size does not allow
            continue
        if (kernel := getattr(objective, "kernel", None)) is not None:
            found[f"preset {preset}"] = kernel
    return found
