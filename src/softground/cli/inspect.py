"""``softground inspect TASK`` or ``softground inspect FILE.cnf``: what can be known before training."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console

from ..constraints import Cnf
from ..errors import ConstraintError, InfeasibleAnswer, LearnerError, SoftgroundError
from ..experiments.named import named_recipe, problem_of
from ..experiments.recipe import Recipe
from ..inspection import Inspection, inspect
from ..inspection.inspection import SECONDS
from ..inspection.show import renderables
from ..inverses.ladder import Budget
from ..kernels import Kernel
from ..learner.datasets import data_with_tasks
from ..task import Task
from .options import RunOptions

TRUTH = (True, False)


@dataclass(frozen=True, kw_only=True)
class Look:
    """How closely to look."""

    sample: int = 16
    """Distinct answers to look at."""
    seconds: float = SECONDS
    """Time limit, without the time to build the task and its data. What is not done by then is left out, and named."""
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

            given: dict[str, Any] = {"sample": self.sample, "progress": progress}
            return inspect(task, answers, seconds=seconds, **given, **other)


@dataclass(frozen=True, kw_only=True)
class Command(Look, RunOptions):
    """What can be known about a task before training."""

    def run(self) -> None:
        self.check()
        recipe, place = named_recipe(self.task_name, self.preset, **self.given | self._less())
        problem = problem_of(recipe, getattr(self, "data_dir", None))
        task, support = problem.task(recipe.inverse, **place.solver(recipe.inverse)), problem.support()
        answers = task.computed(support) if isinstance(task, Task) and support is not None else None
        shapes: dict[Any, tuple[Task, Any, Any]]
        if isinstance(task, Task) and answers is not None and None not in answers:
            shapes = {None: (task, answers, support)}  # what occurs says all; no image need be read
        else:
            parts = data_with_tasks(task, problem.load(recipe.seed).train)
            shapes = {s: (t, data.y, occurring(t, data) if support is None else support) for s, t, data, _ in parts}
        self.show({shape: self._inspected(recipe, shape, *each, len(shapes)) for shape, each in shapes.items()})

    def _inspected(self, recipe: Recipe, shape: Any, task: Task, answers: Any, support: Any, count: int) -> Inspection:
        """What is found for one shape, in its part of the time."""
        name = task.name if shape is None else f"{task.name}, shape {shape}"
        kernels = kernels_of(recipe, task, answers)
        return self.look(task, answers, name, self.seconds / count, kernels=kernels, seed=self.seed, support=support)

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
        rule = Cnf.read(self.path, head="site")
        task = Task(rule.space, rule, name=self.path.stem, budget=Budget(seconds=self.seconds / 3))
        choice = task.settle(rule.encode(TRUTH))
        if not task.inverse.exact:
            why = "; ".join(f"no {rung}: {why}" for rung, why, _ in choice.refused) if choice else ""
            raise ConstraintError(f"{self.path}: no way was found to all inputs of one truth value ({why}).")
        rows = [[{"0": False, "1": True}.get(digit, digit) for digit in word] for word in self.observed] or None
        try:
            found = self.look(task, TRUTH, task.name, self.seconds, support=rows, seed=self.seed)
        except InfeasibleAnswer as error:
            always = "always" if not TRUTH[error.examples[0]] else "never"
            raise ConstraintError(
                f"{self.path}: the formula {always} holds, so that its truth value tells nothing of its variables."
            ) from error
        self.show({None: found})


def occurring(task: Task, data: Any) -> Any:
    """The data themselves, where they say which combinations of symbols occur."""
    return data if task.space.categorical and getattr(data, "symbols", None) is not None else None


def kernels_of(recipe: Recipe, task: Task, answers: Any) -> dict[str, Kernel]:
    """The kernels of this command's recipe and of the paper's preset, as training would make them."""
    problem, found = problem_of(recipe), {}
    for preset in dict.fromkeys([recipe.preset, "paper"]):
        try:
            which = recipe if preset == recipe.preset else problem.recipe(preset)
            objective = problem.grounding(which, task)
        except SoftgroundError:  # a kernel that this problem's size does not allow
            continue
        if (kernel := getattr(objective, "kernel", None)) is not None:
            found[f"preset {preset}"] = kernel
    return found
